import type { Run, RunStep, RunStepPage } from "@board/client";
import { type AddCommands, startRun } from "../cli.ts";
import { collect } from "../collect.ts";
import { UsageError } from "../failure.ts";
import type { Column, Output } from "../output.ts";
import { PROGRAM } from "../program.ts";
import { type Session, UUID } from "../session.ts";
import { toSafeLine } from "../text.ts";
import { toCount } from "./tasks.ts";

const DEFAULT_LIMIT = 50;
const MAX_LINE = 200;
const STATUSES = ["running", "submitted", "released", "blocked", "expired", "stopped", "superseded"] as const;

interface RunsOptions {
  task?: string;
  status?: string;
  limit: number;
  follow?: boolean;
}

const columns: Column<Run>[] = [
  { title: "id", value: ({ id }) => id },
  { title: "status", value: ({ status }) => status },
  { title: "agent", value: ({ agent_name }) => agent_name, max: 30 },
  { title: "task", value: ({ task_id }) => task_id },
  { title: "began", value: ({ started_at }) => started_at.slice(0, 16).replace("T", " ") },
  { title: "minutes", value: minutesOf },
  { title: "tokens", value: ({ usage }) => usage.input_tokens + usage.output_tokens },
  { title: "cost", value: ({ usage }) => usage.cost_usd ?? "" },
];

/** Adds `runs`, which lists attempts of agents on tasks, and shows the steps of one attempt. */
export const addRuns: AddCommands = (program, host) => {
  program
    .command("runs [run]")
    .description("List the runs of agents on a board, newest first, or show the steps of one run")
    .option("--task <id>", "only runs of this task")
    .option("-s, --status <status>", `only these: ${STATUSES.join(", ")}`)
    .option("-n, --limit <number>", "how many runs or steps", toCount, DEFAULT_LIMIT)
    .option("-f, --follow", "print the steps of the run as they happen, until Ctrl-C")
    .action(async (run_id: string | undefined, options: RunsOptions, command) => {
      const { output, openSession } = startRun(command, host);
      if (run_id !== undefined && !UUID.test(run_id))
        throw new UsageError(`${run_id} is not the id of a run. "${PROGRAM} runs" shows the ids.`);
      if (options.follow && run_id === undefined)
        throw new UsageError(`Name the run to follow. "${PROGRAM} runs" shows the ids.`);
      const session = await openSession();
      if (run_id === undefined) return printRuns(session, output, options);
      const path = { board_id: await session.findBoardId(), run_id };
      return options.follow ? follow(session, output, path) : printSteps(session, output, path, options.limit);
    });
};

async function printRuns({ client, findBoardId }: Session, output: Output, { task, status, limit }: RunsOptions): Promise<void> {
  const known = STATUSES.find((name) => name === status);
  if (status !== undefined && known === undefined)
    throw new UsageError(`There is no status ${status}. Use one of: ${STATUSES.join(", ")}`);
  if (task !== undefined && !UUID.test(task)) throw new UsageError(`${task} is not the id of a task.`);
  const board_id = await findBoardId();
  const query = { limit: Math.min(limit, 200) };
  const list =
    task === undefined
      ? client.list("/api/v1/boards/{board_id}/runs", {
          params: { path: { board_id }, query: { ...query, ...(known && { status: known }) } },
        })
      : client.list("/api/v1/boards/{board_id}/tasks/{task_id}/runs", { params: { path: { board_id, task_id: task }, query } });
  const runs = await collect<Run>(task === undefined ? list : ofStatus(list, known), limit);
  output.result(runs, () => output.table(runs, columns, "No runs."));
}

/** Filters runs here, because the list of a task's runs has no filter. */
async function* ofStatus(runs: AsyncIterable<Run>, status: Run["status"] | undefined): AsyncGenerator<Run> {
  for await (const run of runs) if (status === undefined || run.status === status) yield run;
}

interface RunPath {
  board_id: string;
  run_id: string;
}

/** Prints the latest steps, oldest first. */
async function printSteps({ client }: Session, output: Output, path: RunPath, limit: number): Promise<void> {
  const steps: RunStep[] = [];
  for (let cursor: string | null = ""; cursor !== null && steps.length < limit; ) {
    const query = { order: "desc" as const, limit: Math.min(limit - steps.length, 200), cursor };
    const page: RunStepPage = await client.get("/api/v1/boards/{board_id}/runs/{run_id}/steps", { params: { path, query } });
    steps.push(...page.items);
    cursor = page.next_cursor;
  }
  steps.reverse();
  output.result(steps, () => {
    if (steps.length === 0) output.line("No steps.");
    for (const step of steps) output.line(toLine(step));
  });
}

/** Prints all steps from the beginning of the run, and then new steps as they arrive. */
async function follow({ client }: Session, output: Output, path: RunPath): Promise<void> {
  const { started_at } = await client.get("/api/v1/boards/{board_id}/runs/{run_id}", { params: { path } });
  const params = { path, query: { since: started_at } };
  for await (const { id, event, data } of client.stream("/api/v1/boards/{board_id}/runs/{run_id}/steps/stream", { params }))
    output.event({ id, event, data }, () => output.line(toLine(data)));
}

/** Formats a step as one line. Agents and tools wrote its text, so unsafe characters are removed. */
function toLine(step: RunStep): string {
  const text = toSafeLine(contentOf(step), MAX_LINE);
  return `${step.at.slice(11, 19)}  ${step.kind.padEnd(10)}  ${text}${step.truncated ? " (cut)" : ""}`;
}

function contentOf(step: RunStep): string {
  switch (step.kind) {
    case "message":
    case "thought":
      return step.text;
    case "log":
      return `${step.stream}: ${step.text}`;
    case "tool_call":
      return [step.status, step.title ?? step.tool_call_id].filter(Boolean).join(" ");
    case "plan":
      return step.entries.map(({ content, status }) => `[${status}] ${content}`).join("; ");
    case "permission":
      return `${step.outcome}: ${step.title}`;
    case "usage":
      return `${step.model ?? "model"}: ${step.input_tokens ?? 0} in, ${step.output_tokens ?? 0} out`;
  }
}

function minutesOf({ started_at, ended_at }: Run): number {
  const end = ended_at === null ? Date.now() : Date.parse(ended_at);
  return Math.max(0, Math.round((end - Date.parse(started_at)) / 60_000));
}
