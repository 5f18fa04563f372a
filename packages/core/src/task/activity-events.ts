import type { BoardRow } from "../organization/access.ts";
import { type Agent, actorColumns, type System, type User } from "../context/actor.ts";
import type { EventType, NewActivityEvent } from "../activity/event-type.ts";
import type { BoardAgent } from "../notification/board-agents.ts";
import type { TaskRow } from "./status-rules.ts";

type TaskSnapshot = Pick<TaskRow, "id" | "title" | "status" | "assigned_agent_id" | "priority">;

/** Builds an event about a task. `task_id` is null for a removed task. */
export const taskEvent = (
  actor: User | Agent | System,
  board: Pick<BoardRow, "id" | "organization_id">,
  task_id: string | null,
  event_type: EventType,
  message: string,
): NewActivityEvent => ({
  event_type,
  message,
  organization_id: board.organization_id,
  board_id: board.id,
  task_id,
  ...actorColumns(actor),
});

/** Builds the activity event that stores a comment. */
export const commentEvent = (
  actor: User | Agent,
  board: BoardRow,
  task_id: string,
  message: string,
  { tags = null, anchor = null }: Pick<NewActivityEvent, "tags" | "anchor"> = {},
): NewActivityEvent => ({ ...taskEvent(actor, board, task_id, "task.comment", message), tags, anchor });

interface TaskChange {
  /** Null for a new task. */
  before: TaskSnapshot | null;
  after: TaskSnapshot;
  agents: readonly BoardAgent[];
}

/**
 * Returns the events of a change, in order (docs/reference/tasks.md#events-of-a-task). `task.created` is not included, because the
 * caller adds it.
 */
export function changeEvents(
  actor: User | Agent | System,
  board: BoardRow,
  { before, after, agents }: TaskChange,
): NewActivityEvent[] {
  const { title, status, priority } = after;
  const event = (type: EventType, message: string) => taskEvent(actor, board, after.id, type, message);
  const assignee = agents.find(({ agent_id }) => agent_id === after.assigned_agent_id);
  const isNewlyAssigned = assignee && before?.assigned_agent_id !== assignee.agent_id;
  const isStarted = assignee && status === "in_progress" && before?.status !== "in_progress";
  const movedEvent =
    before && (before.status === status ? event("task.updated", `Task updated: ${title}.`) : statusEvent(event, status, title));
  return [
    ...(movedEvent ? [movedEvent] : []),
    ...(isNewlyAssigned ? [event("task.assigned", `Task assigned to ${assignee.name}: ${title}.`)] : []),
    ...(before && before.priority !== priority
      ? [event("task.priority_changed", `Task priority changed to ${priority}: ${title}.`)]
      : []),
    ...(isNewlyAssigned
      ? [wakeEvent(event, assignee, "assignment")]
      : isStarted
        ? [wakeEvent(event, assignee, "status_in_progress")]
        : []),
  ];
}

type EventBuilder = (type: EventType, message: string) => NewActivityEvent;

const statusEvent = (event: EventBuilder, status: string, title: string) =>
  event("task.status_changed", `Task moved to ${status}: ${title}.`);

function wakeEvent(
  event: EventBuilder,
  { name, gateway_kind, openclaw_session_id }: BoardAgent,
  reason: string,
): NewActivityEvent {
  // A pull agent has no host that could be woken. It reads the message in its inbox.
  if (gateway_kind === "pull") return event("task.assignee_woken", `Assignee told in its inbox (${reason}): ${name}.`);
  return openclaw_session_id
    ? event("task.assignee_woken", `Assignee woken (${reason}): ${name}.`)
    : event("task.assignee_wake_failed", `Assignee not woken (${reason}), it has no session: ${name}.`);
}
