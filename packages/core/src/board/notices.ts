import { and, eq, or } from "drizzle-orm";
import type { BoardRow } from "../access.ts";
import { agents } from "../agent/agent.sql.ts";
import { type BoardRecipient, listRecipients } from "../agent/recipient.ts";
import type { Context } from "../context.ts";
import { notify } from "../notice/notice.ts";
import { board_groups, boards } from "./board.sql.ts";
import { boardUpdatedText, groupUpdatedText, type Membership } from "./message.ts";

/**
 * Tells of a board's change, in its transaction (contract boards.md §3): the agents of a group when the board left or
 * joined it, and the lead what changed. A move from group to group is both.
 */
export async function notifyOfChanges(
  ctx: Context,
  before: BoardRow,
  board: BoardRow,
  changes: Partial<BoardRow>,
): Promise<void> {
  if (changes.board_group_id !== undefined) {
    if (before.board_group_id) await notifyGroup(ctx, "Left", board, before.board_group_id);
    if (board.board_group_id) await notifyGroup(ctx, "Joined", board, board.board_group_id);
  }
  const message = boardUpdatedText(board, before, changes);
  for (const lead of await listRecipients(ctx, and(eq(boards.id, board.id), agents.is_board_lead)!))
    await notify(ctx, lead, {
      message,
      sent: { event_type: "board.lead_notified", ...about(lead, `Told ${lead.name} what changed on ${board.name}.`) },
      failed: {
        event_type: "board.lead_notify_failed",
        ...about(lead, `Could not tell ${lead.name} what changed on ${board.name}.`),
      },
    });
}

const EVENTS = { Left: "board.group.leave", Joined: "board.group.join" } as const;

async function notifyGroup(ctx: Context, what: Membership, board: BoardRow, group_id: string): Promise<void> {
  const [group] = await ctx.db.select().from(board_groups).where(eq(board_groups.id, group_id));
  if (!group) return;
  const concerned = or(eq(boards.board_group_id, group.id), eq(boards.id, board.id))!;
  const news = `${board.name} ${what.toLowerCase()} ${group.name}`;
  for (const recipient of await listRecipients(ctx, concerned))
    await notify(ctx, recipient, {
      message: groupUpdatedText({ what, board, group, recipient }),
      sent: { event_type: `${EVENTS[what]}.notified`, ...about(recipient, `Told ${recipient.name} that ${news}.`) },
      failed: {
        event_type: `${EVENTS[what]}.notify_failed`,
        ...about(recipient, `Could not tell ${recipient.name} that ${news}.`),
      },
    });
}

const about = ({ organization_id, board_id, agent_id }: BoardRecipient, message: string) => ({
  organization_id,
  board_id,
  agent_id,
  message,
});
