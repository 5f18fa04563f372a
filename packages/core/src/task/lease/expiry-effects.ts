import type { BoardRow } from "../../organization/access.ts";
import type { System } from "../../context/actor.ts";
import type { NewActivityEvent } from "../../activity/event-type.ts";
import type { Context } from "../../context/context.ts";
import type { BoardAgent } from "../../notification/board-agents.ts";
import { changeEvents, taskEvent } from "../activity-events.ts";
import { taskBoardEvents } from "../board-events.ts";
import type { TaskEffects } from "../effects.ts";
import { blockedNotifications, changeNotifications } from "../notifications.ts";
import type { TaskRow } from "../status-rules.ts";

/** A task before and after the lease of its holder expired. */
export interface ExpiredTask {
  before: TaskRow;
  after: TaskRow;
}

/** The effects of expired leases. The lead is notified about each task, whether it returned to the inbox or was blocked. */
export function toExpiryEffects(
  ctx: Context<System>,
  board: BoardRow,
  agents: readonly BoardAgent[],
  expired: readonly ExpiredTask[],
): TaskEffects {
  const effects = expired.map(({ before, after }) => {
    const { id: task_id, status: to_status, in_progress_at } = after;
    const change = { before, after, agents };
    return {
      transition: { board_id: board.id, task_id, from_status: before.status, to_status, in_progress_at },
      events: [toExpiryEvent(ctx, board, agents, before), ...changeEvents(ctx.actor, board, change)],
      notifications:
        to_status === "blocked"
          ? blockedNotifications(board, after, agents)
          : changeNotifications(board, { ...change, acting_agent_id: null, review_comment: null }),
      board_events: taskBoardEvents(board, { before, after, changed_fields: ["status", "assigned_agent_id"] }),
    };
  });
  return {
    transitions: effects.map(({ transition }) => transition),
    events: effects.flatMap(({ events }) => events),
    notifications: effects.flatMap(({ notifications }) => notifications),
    board_events: effects.flatMap(({ board_events }) => board_events),
  };
}

function toExpiryEvent(
  ctx: Context<System>,
  board: BoardRow,
  agents: readonly BoardAgent[],
  { id, title, assigned_agent_id, lease_expires_at }: TaskRow,
): NewActivityEvent {
  const name = agents.find(({ agent_id }) => agent_id === assigned_agent_id)?.name ?? "A removed agent";
  const message = lease_expires_at
    ? `${name} lost the task, its lease expired at ${lease_expires_at.toISOString()}: ${title}.`
    : `${name} lost the task, silent for ${ctx.settings.task_idle_hours} hours at ${ctx.now().toISOString()}: ${title}.`;
  return { ...taskEvent(ctx.actor, board, id, "task.lease_expired", message), agent_id: assigned_agent_id };
}
