import type { BoardRow } from "../organization/access.ts";
import { type Agent, agentIdOf, type User } from "../context/actor.ts";
import type { NewActivityEvent } from "../activity/event-type.ts";
import type { NewBoardEvent } from "../context/event-body.ts";
import type { BoardAgent } from "../notification/board-agents.ts";
import type { Notification } from "../notification/notification.ts";
import { changeEvents, commentEvent, taskEvent } from "./activity-events.ts";
import { returnedBoardEvents, taskBoardEvents, unblockedBoardEvents, unlinkedBoardEvents } from "./board-events.ts";
import type { TaskFacts } from "./lock.ts";
import { changeNotifications, commentNotifications, creationNotifications, returnNotifications } from "./notifications.ts";
import type { ReturnedTask } from "./dependency/return-dependents.ts";
import type { TaskRow } from "./status-rules.ts";
import type { TaskStatus } from "./task-status.ts";
import type { NewTransition } from "./transition.ts";

/**
 * What a change of tasks writes in addition to the tasks themselves. The functions in this file are pure: they compute the
 * effects of a change, and `storeEffects` writes them.
 */
export interface TaskEffects {
  transitions: NewTransition[];
  /** Streams show events in this order. */
  events: NewActivityEvent[];
  notifications: Notification[];
  board_events: NewBoardEvent[];
}

export function toCreationEffects(
  actor: User | Agent,
  board: BoardRow,
  task: TaskRow,
  agents: readonly BoardAgent[],
): TaskEffects {
  const { id: task_id, title, status: to_status, in_progress_at } = task;
  const byUser = actor.type === "user";
  const message = byUser ? `Task created: ${title}.` : `Task created by lead: ${title}.`;
  return {
    transitions: [{ board_id: board.id, task_id, from_status: null, to_status, in_progress_at }],
    events: [
      taskEvent(actor, board, task_id, "task.created", message),
      ...changeEvents(actor, board, { before: null, after: task, agents }),
    ],
    notifications: creationNotifications(board, task, agents, byUser),
    board_events: taskBoardEvents(board, { before: null, after: task, changed_fields: [] }),
  };
}

/** An update as it was stored. */
export interface TaskUpdate {
  actor: User | Agent;
  board: BoardRow;
  agents: readonly BoardAgent[];
  before: TaskRow;
  after: TaskRow;
  /** False for an update that only repeats stored values or only adds a comment. */
  is_changed: boolean;
  /**
   * The changed fields as the API names them. Times that follow from the status, such as `in_progress_at`, are not listed, so the
   * list may be empty for a changed task.
   */
  changed_fields: readonly string[];
  comment: string | undefined;
  /** The lead's latest comment since the task last moved to review. */
  review_comment: string | null;
  /**
   * The comments of the review, without the comments of the agent that submitted the task. Set only if a person sends the task
   * back.
   */
  requested?: string | null | undefined;
  /** Tasks that depend on this task and were affected when it left `done`. */
  returned: readonly ReturnedTask[];
  dependents: TaskFacts["dependents"];
}

export const toUpdateEffects = (update: TaskUpdate): TaskEffects => ({
  transitions: updateTransitions(update),
  events: updateEvents(update),
  notifications: updateNotifications(update),
  board_events: updateBoardEvents(update),
});

const isMoved = ({ before, after }: TaskUpdate) => before.status !== after.status;

/** Returns the tasks that had to wait for this task until the update moved it to `done`. */
const unblockedTasks = (update: TaskUpdate) =>
  isMoved(update) && update.after.status === "done" ? update.dependents.filter(({ open }) => open) : [];

/** Returns false for a task that was already in the inbox: it loses its assignee but keeps its status. */
const isTransition = ({ moved, from_status }: ReturnedTask) => moved && from_status !== "inbox";

function updateTransitions(update: TaskUpdate): NewTransition[] {
  const { board, before, after, returned } = update;
  const board_id = board.id;
  const transition = {
    board_id,
    task_id: after.id,
    from_status: before.status,
    to_status: after.status,
    in_progress_at: after.in_progress_at,
  };
  const returns = returned
    .filter(isTransition)
    .map(({ id, from_status }) => ({ board_id, task_id: id, from_status, to_status: "inbox" as const, in_progress_at: null }));
  return [...(isMoved(update) ? [transition] : []), ...returns];
}

function updateEvents(update: TaskUpdate): NewActivityEvent[] {
  const { actor, board, before, after, agents, is_changed, comment, returned } = update;
  const completionMessage = `Dependency completion changed: ${after.title}.`;
  const returnMessage = `Task returned to inbox: dependency reopened (${after.title}).`;
  return [
    ...(comment ? [commentEvent(actor, board, after.id, comment)] : []),
    ...(is_changed ? changeEvents(actor, board, { before, after, agents }) : []),
    ...returned.map((task) => {
      const type = isTransition(task) ? "task.status_changed" : "task.updated";
      return taskEvent(actor, board, task.id, type, task.moved ? returnMessage : completionMessage);
    }),
    ...unblockedTasks(update).map(({ id }) => taskEvent(actor, board, id, "task.updated", completionMessage)),
  ];
}

function updateNotifications(update: TaskUpdate): Notification[] {
  const { actor, board, before, after, agents, is_changed, comment, requested, returned } = update;
  const acting_agent_id = agentIdOf(actor);
  const review_comment = comment ?? update.review_comment;
  return [
    ...(is_changed ? changeNotifications(board, { before, after, agents, acting_agent_id, review_comment, requested }) : []),
    ...returned
      .filter(({ moved }) => moved)
      .flatMap(({ former_assignee_id, ...task }) =>
        returnNotifications(
          board,
          { ...task, status: "inbox", assigned_agent_id: null },
          { former_assignee_id, agents, acting_agent_id },
        ),
      ),
    // `requested` already contains this comment, so if it is set, the assignee gets no separate notification.
    ...(comment
      ? commentNotifications(
          actor,
          board,
          after,
          { message: comment, anchor: null },
          agents.filter(({ agent_id }) => requested === undefined || agent_id !== after.assigned_agent_id),
        )
      : []),
  ];
}

function updateBoardEvents(update: TaskUpdate): NewBoardEvent[] {
  const { board, before, after, is_changed, changed_fields, returned } = update;
  return [
    ...(is_changed ? taskBoardEvents(board, { before, after, changed_fields }) : []),
    ...returnedBoardEvents(board, returned),
    ...unblockedBoardEvents(board, unblockedTasks(update)),
  ];
}

/**
 * Returns the effects of removing a task. No agent is notified, but the removal counts as a change of the tasks that depended on
 * the removed task.
 */
export function toRemovalEffects(
  actor: User | Agent,
  board: BoardRow,
  task: TaskRow,
  dependents: TaskFacts["dependents"],
): TaskEffects {
  const { title, status: from_status, in_progress_at } = task;
  return {
    transitions: [{ board_id: board.id, task_id: null, from_status, to_status: null, in_progress_at }],
    events: [
      taskEvent(actor, board, null, "task.deleted", `Task deleted: ${title}.`),
      ...dependents.map(({ id }) => taskEvent(actor, board, id, "task.updated", `Dependency removed: ${title}.`)),
    ],
    notifications: [],
    board_events: unlinkedBoardEvents(board, dependents),
  };
}

/** The state of a task before it lost its assignee. */
export interface UnassignedTask {
  id: string;
  board_id: string;
  title: string;
  from_status: TaskStatus;
}

/** Returns the effects of unassigning an agent that is being removed or moved. */
export function toUnassignEffects(
  actor: User | Agent,
  agent: { id: string; organization_id: string },
  unassigned: readonly UnassignedTask[],
): TaskEffects {
  const effects = unassigned.map(({ id, board_id, title, from_status }) => {
    const board = { id: board_id, organization_id: agent.organization_id };
    const moved = from_status === "in_progress";
    const event = moved
      ? taskEvent(actor, board, id, "task.status_changed", `Task moved to inbox: ${title}.`)
      : taskEvent(actor, board, id, "task.updated", `Task updated: ${title}.`);
    const transition = { board_id, task_id: id, from_status, to_status: "inbox" as const, in_progress_at: null };
    const before = { id, status: from_status, assigned_agent_id: agent.id };
    const after = { id, status: moved ? ("inbox" as const) : from_status, assigned_agent_id: null };
    const changed_fields = [...(moved ? ["status"] : []), "assigned_agent_id"];
    return {
      event,
      transitions: moved ? [transition] : [],
      board_events: taskBoardEvents(board, { before, after, changed_fields }),
    };
  });
  return {
    transitions: effects.flatMap(({ transitions }) => transitions),
    events: effects.map(({ event }) => event),
    notifications: [],
    board_events: effects.flatMap(({ board_events }) => board_events),
  };
}
