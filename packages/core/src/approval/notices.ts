import type { BoardRow } from "../access.ts";
import type { Context } from "../context.ts";
import { type NewNotice, newNotices, toNotices } from "../notice/notice.ts";
import { leadOf, readPeople } from "../task/people.ts";
import { oneLine } from "../wire.ts";
import type { Approval } from "./approval.ts";
import { approvalResolvedText } from "./message.ts";

/** The jobs that tell the lead, and the agent that asked, of a decision: for `writeTogether`. */
export async function newDecisionNotices(ctx: Context, board: BoardRow, approval: Approval) {
  const { agent_id, task_id, status } = approval;
  const people = await readPeople(ctx, board, agent_id === null ? [] : [agent_id]);
  const lead = leadOf(board, people);
  const asking = people.find((one) => one.agent_id === agent_id);
  const message = approvalResolvedText(board, approval);
  const told: NewNotice[] = [];
  if (lead) {
    const about = { organization_id: board.organization_id, board_id: board.id, agent_id: lead.agent_id, task_id };
    const news = `${oneLine(approval.action_type)} was ${status}`;
    told.push(
      ...toNotices(lead, {
        message,
        sent: { event_type: "approval.lead_notified", ...about, message: `Told ${lead.name} that ${news}.` },
        failed: { event_type: "approval.lead_notify_failed", ...about, message: `Could not tell ${lead.name} that ${news}.` },
      }),
    );
  }
  if (asking && asking !== lead) told.push(...toNotices(asking, { message }));
  return newNotices(ctx, told);
}
