import { boardQuery, readable, type Reference, type Rows } from "./reference.ts";
import { FOREIGN_MODEL } from "./seed-usage.ts";

const usage = (about: string, answers: Reference["answers"], entry: (rows: Rows) => object): Reference => ({
  about,
  body: (rows) => ({ entries: [{ key: "turn", input_tokens: 1, ...entry(rows) }] }),
  answers,
});
export const reportedUsage: Reference[] = [
  usage("a model of another organization", 200, () => ({ model: FOREIGN_MODEL })),
  usage("a task of another organization", 422, ({ theirs }) => ({ task_id: theirs.task_id })),
  usage(
    "a task of another board",
    ({ agent }) => (agent === "main" ? 200 : 422),
    ({ elsewhere }) => ({ task_id: elsewhere.task_id }),
  ),
  usage("a task in work", 200, ({ known }) => ({ task_id: known.doing_task_id })),
  usage(
    "a run",
    ({ agent }) => (agent === "worker" ? 200 : 422),
    ({ known }) => ({ run_id: known.task_run_id }),
  ),
  usage("a run of another organization", 422, ({ theirs }) => ({ run_id: theirs.task_run_id })),
];

/** The boards whose sums of usage are read, with ranges of days and of months. */
export const usageMetrics: Reference[] = [
  ...boardQuery({ elsewhere: readable("elsewhere"), known: readable("home") }),
  ...["agent", "board", "model", "task"].map((name) => ({ about: `by ${name}`, query: () => `?group_by=${name}`, answers: 200 })),
  ...["agent", "board", "task"].flatMap((name): Reference[] => [
    { about: `a year by ${name}`, query: () => `?range=1y&group_by=${name}`, answers: 200 },
    {
      about: `a year of a board by ${name}`,
      query: ({ known }) => `?range=1y&group_by=${name}&board_id=${known.board_id}`,
      answers: readable("home"),
    },
  ]),
];
