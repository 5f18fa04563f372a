import type { BoardRow } from "../access.ts";
import type { NewBoardEvent } from "../board-event/board-event.ts";
import type { Returned } from "./cascade.ts";
import type { Facts } from "./facts.ts";
import type { TaskRow } from "./status.ts";

type Shown = Pick<TaskRow, "id" | "status" | "assigned_agent_id">;
type Home = Pick<BoardRow, "id" | "organization_id">;

interface Changed {
  /** Null for a new task. */
  before: Shown | null;
  after: Shown;
  changed_fields: readonly string[];
}

/** What leaves on the event bus of a change of a task: the change, and beside it that somebody got the task, or that it is done. */
export function taskBoardEvents(home: Home, { before, after, changed_fields }: Changed): NewBoardEvent[] {
  const { id, status, assigned_agent_id } = after;
  const facts = { ...homeOf(home), subject: { type: "task" as const, id }, status, assigned_agent_id };
  return [
    before ? { type: "task.updated", ...facts, changed_fields: [...changed_fields] } : { type: "task.created", ...facts },
    ...(assigned_agent_id !== null && before?.assigned_agent_id !== assigned_agent_id
      ? [{ type: "task.assigned" as const, ...facts }]
      : []),
    ...(status === "done" && before?.status !== "done" ? [{ type: "task.completed" as const, ...facts }] : []),
  ];
}

const homeOf = ({ id: board_id, organization_id }: Home) => ({ organization_id, board_id });

const OWN = ["title", "description", "status", "priority", "due_at", "assigned_agent_id"] as const;

interface Links {
  tag_ids: boolean;
  depends_on_task_ids: boolean;
  custom_field_values: boolean;
}

/** The names under which the API shows what has changed. Times follow from the status, and are not named. */
export const changedFieldsOf = (changes: Partial<TaskRow>, links: Links): string[] => [
  ...OWN.filter((name) => name in changes),
  ...Object.entries(links).flatMap(([name, changed]) => (changed ? [name] : [])),
];

/** What a waiting task shows of those that it waits for. */
const BLOCKED_BY = "blocked_by_task_ids";

/** Of tasks that depend on one that was reopened. */
export const returnedBoardEvents = (home: Home, returned: readonly Returned[]): NewBoardEvent[] =>
  returned.flatMap(({ id, from_status, former, moved }) => {
    const before: Shown = { id, status: from_status, assigned_agent_id: former };
    const after: Shown = moved ? { id, status: "inbox", assigned_agent_id: null } : before;
    const own = (["status", "assigned_agent_id"] as const).filter((name) => before[name] !== after[name]);
    return taskBoardEvents(home, { before, after, changed_fields: [...own, BLOCKED_BY] });
  });

/** Of tasks that waited for one that is done now. */
export const unblockedBoardEvents = (home: Home, dependents: Facts["dependents"]): NewBoardEvent[] =>
  dependents.flatMap((one) => taskBoardEvents(home, { before: one, after: one, changed_fields: [BLOCKED_BY] }));

/** Of tasks that depended on one that is removed. */
export const unlinkedBoardEvents = (home: Home, dependents: Facts["dependents"]): NewBoardEvent[] =>
  dependents.flatMap((one) => taskBoardEvents(home, { before: one, after: one, changed_fields: ["depends_on_task_ids"] }));
