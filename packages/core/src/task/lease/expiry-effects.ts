import type { BoardRow } from "../../organization/access.ts";
import type { Agent, System, User } from "../../context/actor.ts";
import type { NewActivityEvent } from "../../activity/event-type.ts";
import type { Context } from "../../context/context.ts";
import type { NewBoardEvent } from "../../context/event-body.ts";
import type { BoardAgent } from "../../notification/board-agents.ts";
import { changeEvents, taskEvent } from "../activity-events.ts";
import { taskBoardEvents } from "../board-events.ts";
import type { TaskEffects } from "../effects.ts";
import { blockedNotifications, changeNotifications } from "../notifications.ts";
import type { TaskRow } from "../status-rules.ts";

/** A task before and after it was taken away from its holder. */
export interface TakenTask {
  before: TaskRow;
  after: TaskRow;
}

/**
 * Returns the effects of expired leases. The lead is notified about each task, no matter whether it returned to the inbox or was
 * blocked.
 */
export const toExpiryEffects = (
  ctx: Context<System>,
  board: BoardRow,
  agents: readonly BoardAgent[],
  expired: readonly TakenTask[],
): TaskEffects =>
  mergeEffects(
    expired.map((taken) => {
      const effects = toTakenEffects(ctx.actor, board, agents, taken);
      const { before } = taken;
      return {
        ...effects,
        events: [...toExpiryEvents(ctx, board, agents, before), ...effects.events],
        board_events: [...effects.board_events, ...runBoardEvents(board, before, "run.expired")],
      };
    }),
  );

/** Returns the effects of taking a task away from its holder, for any reason. */
export function toTakenEffects(
  actor: User | Agent | System,
  board: BoardRow,
  agents: readonly BoardAgent[],
  { before, after }: TakenTask,
): TaskEffects {
  const { id: task_id, status: to_status, in_progress_at } = after;
  const change = { before, after, agents };
  return {
    transitions: [{ board_id: board.id, task_id, from_status: before.status, to_status, in_progress_at }],
    events: changeEvents(actor, board, change),
    notifications:
      to_status === "blocked"
        ? blockedNotifications(board, after, agents)
        : changeNotifications(board, { ...change, acting_agent_id: null, review_comment: null }),
    board_events: taskBoardEvents(board, { before, after, changed_fields: ["status", "assigned_agent_id"] }),
  };
}

export const mergeEffects = (effects: readonly TaskEffects[]): TaskEffects => ({
  transitions: effects.flatMap(({ transitions }) => transitions),
  events: effects.flatMap(({ events }) => events),
  notifications: effects.flatMap(({ notifications }) => notifications),
  board_events: effects.flatMap(({ board_events }) => board_events),
});

/** Returns the board event of a run that ended because its task was taken away, or no event if no run was running. */
export const runBoardEvents = (
  board: BoardRow,
  { id, run_id, run_status, run_agent_id }: TaskRow,
  type: "run.expired" | "run.stopped",
): NewBoardEvent[] =>
  run_id === null || run_status !== "running"
    ? []
    : [
        {
          type,
          organization_id: board.organization_id,
          board_id: board.id,
          subject: { type: "run", id: run_id },
          status: type === "run.expired" ? "expired" : "stopped",
          task_id: id,
          agent_id: run_agent_id!,
        },
      ];

function toExpiryEvents(
  ctx: Context<System>,
  board: BoardRow,
  agents: readonly BoardAgent[],
  { id, title, assigned_agent_id, lease_expires_at, run_status }: TaskRow,
): NewActivityEvent[] {
  const name = agents.find(({ agent_id }) => agent_id === assigned_agent_id)?.name ?? "A removed agent";
  const message = lease_expires_at
    ? `${name} lost the task, its lease expired at ${lease_expires_at.toISOString()}: ${title}.`
    : `${name} lost the task, silent for ${ctx.settings.task_idle_hours} hours at ${ctx.now().toISOString()}: ${title}.`;
  const ended = `The run of ${name} expired: ${title}.`;
  return [
    { ...taskEvent(ctx.actor, board, id, "task.lease_expired", message), agent_id: assigned_agent_id },
    ...(run_status === "running"
      ? [{ ...taskEvent(ctx.actor, board, id, "run.expired", ended), agent_id: assigned_agent_id }]
      : []),
  ];
}
