import type { BoardRow } from "../access.ts";
import type { Agent, User } from "../actor.ts";
import type { EventType, TypedEvent } from "../activity/activity.ts";
import type { Colleague } from "./people.ts";
import type { TaskRow } from "./status.ts";

type Told = Pick<TaskRow, "id" | "title" | "status" | "assigned_agent_id" | "priority">;

/** An event about a task, by whoever acts. */
export const taskEvent = (
  actor: User | Agent,
  board: BoardRow,
  task_id: string | null,
  event_type: EventType,
  message: string,
): TypedEvent => ({ event_type, message, organization_id: board.organization_id, board_id: board.id, task_id, ...doneBy(actor) });

/** The actor's column of a row that tells who did something. */
export const doneBy = (actor: User | Agent) =>
  actor.type === "agent" ? { agent_id: actor.agent_id } : { user_id: actor.user_id };

interface Changed {
  /** Null for a new task. */
  before: Told | null;
  after: Told;
  people: readonly Colleague[];
}

/** What the activity log tells of a change, in its order (contract tasks.md §5.3). A new task has its own first event. */
export function changeEvents(actor: User | Agent, board: BoardRow, { before, after, people }: Changed): TypedEvent[] {
  const { title, status, priority } = after;
  const event = (type: EventType, message: string) => taskEvent(actor, board, after.id, type, message);
  const assignee = people.find(({ agent_id }) => agent_id === after.assigned_agent_id);
  const assigned = assignee && before?.assigned_agent_id !== assignee.agent_id;
  const started = assignee && status === "in_progress" && before?.status !== "in_progress";
  const first =
    before && (before.status === status ? event("task.updated", `Task updated: ${title}.`) : statusEvent(event, status, title));
  return [
    ...(first ? [first] : []),
    ...(assigned ? [event("task.assigned", `Task assigned to ${assignee.name}: ${title}.`)] : []),
    ...(before && before.priority !== priority
      ? [event("task.priority_changed", `Task priority changed to ${priority}: ${title}.`)]
      : []),
    ...(assigned
      ? [wakeEvent(event, assignee, "assignment")]
      : started
        ? [wakeEvent(event, assignee, "status_in_progress")]
        : []),
  ];
}

type NewEvent = (type: EventType, message: string) => TypedEvent;

const statusEvent = (event: NewEvent, status: string, title: string) =>
  event("task.status_changed", `Task moved to ${status}: ${title}.`);

const wakeEvent = (event: NewEvent, { name, openclaw_session_id }: Colleague, reason: string) =>
  openclaw_session_id
    ? event("task.assignee_woken", `Assignee woken (${reason}): ${name}.`)
    : event("task.assignee_wake_failed", `Assignee not woken (${reason}), it has no session: ${name}.`);
