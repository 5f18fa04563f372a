import type { BoardRow } from "../organization/access.ts";
import type { Context } from "../context/context.ts";
import { type Notification, insertNotifications, toNotifications } from "../notification/notification.ts";
import { findBoardLead, readBoardAgents } from "../notification/board-agents.ts";
import { oneLine } from "../values/wire.ts";
import type { Approval } from "./approval.ts";
import { approvalResolvedText, questionAnsweredText } from "./message.ts";
import { isQuestion } from "./question.ts";

/** Builds the insert for `runBatch` that notifies agents of a decision: the lead, and the agent that requested it. */
export async function insertDecisionNotifications(ctx: Context, board: BoardRow, approval: Approval) {
  const { agent_id, task_id, status } = approval;
  const agents = await readBoardAgents(ctx, board, agent_id === null ? [] : [agent_id]);
  const lead = findBoardLead(board, agents);
  const requester = agents.find((agent) => agent.agent_id === agent_id);
  if (isQuestion(approval))
    return insertNotifications(ctx, requester ? toNotifications(requester, toAnswer(board, approval)) : []);
  const message = approvalResolvedText(board, approval);
  const about = { message, ...(task_id === null ? {} : { task_id }) };
  const notifications: Notification[] = [];
  if (lead) {
    const eventFields = { organization_id: board.organization_id, board_id: board.id, agent_id: lead.agent_id, task_id };
    const summary = `${oneLine(approval.action_type)} was ${status}`;
    notifications.push(
      ...toNotifications(lead, {
        ...about,
        sent: { event_type: "approval.lead_notified", ...eventFields, message: `Notified ${lead.name} that ${summary}.` },
        failed: {
          event_type: "approval.lead_notify_failed",
          ...eventFields,
          message: `Could not notify ${lead.name} that ${summary}.`,
        },
      }),
    );
  }
  if (requester && requester !== lead) notifications.push(...toNotifications(requester, about));
  return insertNotifications(ctx, notifications);
}

/** Returns the notification with the answer. It goes only to the agent that asked, because no other agent waits for the answer. */
const toAnswer = (board: BoardRow, approval: Approval) => ({
  message: questionAnsweredText(board, approval),
  ...(approval.task_id === null ? {} : { task_id: approval.task_id }),
});
