import type { Agent, System, User } from "../context/actor.ts";
import type { BoardAgent } from "../notification/board-agents.ts";
import { textLines } from "../notification/message-lines.ts";
import { toNotifications } from "../notification/notification.ts";
import type { BoardRow } from "../organization/access.ts";
import { taskEvent } from "../task/activity-events.ts";
import type { TaskEffects } from "../task/effects.ts";
import { runBoardEvents, type TakenTask, toTakenEffects } from "../task/lease/expiry-effects.ts";
import type { TaskRow } from "../task/status-rules.ts";
import { oneLine } from "../values/wire.ts";

/** Returns the effects of stopping a run: the task is taken away, an event is recorded, and the agent gets a message. */
export function toStopEffects(
  actor: User | Agent | System,
  board: BoardRow,
  agents: readonly BoardAgent[],
  taken: TakenTask,
  reason: string,
): TaskEffects {
  const effects = toTakenEffects(actor, board, agents, taken);
  const { before } = taken;
  const holder = agents.find(({ agent_id }) => agent_id === before.run_agent_id);
  const message = `The run of ${holder?.name ?? "a removed agent"} was stopped: ${before.title}. ${reason}`;
  return {
    ...effects,
    events: [taskEvent(actor, board, before.id, "run.stopped", message), ...effects.events],
    notifications: [
      ...(holder ? toNotifications(holder, { message: stopText(board, before, reason), task_id: before.id }) : []),
      ...effects.notifications,
    ],
    board_events: [...effects.board_events, ...runBoardEvents(board, before, "run.stopped")],
  };
}

const stopText = (board: BoardRow, task: TaskRow, reason: string): string =>
  [
    "RUN STOPPED",
    `Board: ${oneLine(board.name)}`,
    `Task: ${oneLine(task.title)}`,
    `Task ID: ${task.id}`,
    ...textLines("Reason", reason),
    "",
    "Take action: stop working on the task at once and do not write to it any more; it is back in the inbox.",
  ].join("\n");
