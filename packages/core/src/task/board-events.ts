import type { BoardRow } from "../organization/access.ts";
import type { NewBoardEvent } from "../context/event-body.ts";
import type { ReturnedTask } from "./dependency/return-dependents.ts";
import type { TaskFacts } from "./lock.ts";
import { PLAIN_FIELDS } from "./input.ts";
import type { TaskRow } from "./status-rules.ts";

type TaskState = Pick<TaskRow, "id" | "status" | "assigned_agent_id">;
type BoardRef = Pick<BoardRow, "id" | "organization_id">;

interface TaskChange {
  /** Null for a new task. */
  before: TaskState | null;
  after: TaskState;
  changed_fields: readonly string[];
}

/**
 * Returns the board events of a change: the event of the change itself and, where they apply, `task.assigned` or `task.completed`.
 */
export function taskBoardEvents(board: BoardRef, { before, after, changed_fields }: TaskChange): NewBoardEvent[] {
  const { id, status, assigned_agent_id } = after;
  const fields = { ...toBoardRef(board), subject: { type: "task" as const, id }, status, assigned_agent_id };
  return [
    before ? { type: "task.updated", ...fields, changed_fields: [...changed_fields] } : { type: "task.created", ...fields },
    ...(assigned_agent_id !== null && before?.assigned_agent_id !== assigned_agent_id
      ? [{ type: "task.assigned" as const, ...fields }]
      : []),
    ...(status === "done" && before?.status !== "done" ? [{ type: "task.completed" as const, ...fields }] : []),
  ];
}

const toBoardRef = ({ id: board_id, organization_id }: BoardRef) => ({ organization_id, board_id });

const TASK_FIELDS = [...PLAIN_FIELDS, "status", "assigned_agent_id"] as const;

/** Which of a task's lists changed. */
export interface LinkChanges {
  tag_ids: boolean;
  depends_on_task_ids: boolean;
  custom_field_values: boolean;
}

/** Returns the changed fields as the API names them, without times that follow from the status, such as `in_progress_at`. */
export const toChangedFields = (changes: Partial<TaskRow>, links: LinkChanges): string[] => [
  ...TASK_FIELDS.filter((name) => name in changes),
  ...Object.entries(links).flatMap(([name, changed]) => (changed ? [name] : [])),
];

/** The field that changes in a task when one of its dependencies is finished or reopened. */
const BLOCKED_BY = "blocked_by_task_ids";

/** Returns the events of tasks that depend on a reopened task. */
export const returnedBoardEvents = (board: BoardRef, returned: readonly ReturnedTask[]): NewBoardEvent[] =>
  returned.flatMap(({ id, from_status, former_assignee_id, moved }) => {
    const before: TaskState = { id, status: from_status, assigned_agent_id: former_assignee_id };
    const after: TaskState = moved ? { id, status: "inbox", assigned_agent_id: null } : before;
    const changed = (["status", "assigned_agent_id"] as const).filter((name) => before[name] !== after[name]);
    return taskBoardEvents(board, { before, after, changed_fields: [...changed, BLOCKED_BY] });
  });

/** Returns the events of tasks that depend on a task that is now done. */
export const unblockedBoardEvents = (board: BoardRef, dependents: TaskFacts["dependents"]): NewBoardEvent[] =>
  dependents.flatMap((dependent) =>
    taskBoardEvents(board, { before: dependent, after: dependent, changed_fields: [BLOCKED_BY] }),
  );

/** Returns the events of tasks that depended on a removed task. */
export const unlinkedBoardEvents = (board: BoardRef, dependents: TaskFacts["dependents"]): NewBoardEvent[] =>
  dependents.flatMap((dependent) =>
    taskBoardEvents(board, { before: dependent, after: dependent, changed_fields: ["depends_on_task_ids"] }),
  );
