import { and, eq, or } from "drizzle-orm";
import type { BoardRow } from "../organization/access.ts";
import { agents } from "../schema/agent.sql.ts";
import { type BoardRecipient, listRecipients } from "../notification/recipient.ts";
import type { Context } from "../context/context.ts";
import { notify, notifyAll, toNotifications } from "../notification/notification.ts";
import { board_groups, boards } from "../schema/board.sql.ts";
import { boardUpdatedText, groupUpdatedText, type GroupChangeKind } from "./message.ts";

/**
 * Notifies agents of a changed board: its lead, and the agents of a group that the board left or joined. Call it in the transaction
 * of the change (docs/reference/boards.md#notifications-of-a-change).
 */
export async function notifyBoardUpdated(
  ctx: Context,
  before: BoardRow,
  board: BoardRow,
  changes: Partial<BoardRow>,
): Promise<void> {
  if (changes.board_group_id !== undefined) {
    if (before.board_group_id) await notifyGroupChange(ctx, "Left", board, before.board_group_id);
    if (board.board_group_id) await notifyGroupChange(ctx, "Joined", board, board.board_group_id);
  }
  const message = boardUpdatedText(board, before, changes);
  for (const lead of await listRecipients(ctx, and(eq(boards.id, board.id), agents.is_board_lead)!))
    await notify(ctx, lead, {
      message,
      sent: { event_type: "board.lead_notified", ...eventFields(lead, `Notified ${lead.name} of changes to ${board.name}.`) },
      failed: {
        event_type: "board.lead_notify_failed",
        ...eventFields(lead, `Could not notify ${lead.name} of changes to ${board.name}.`),
      },
    });
}

const EVENT_PREFIXES = { Left: "board.group.leave", Joined: "board.group.join" } as const;

async function notifyGroupChange(ctx: Context, kind: GroupChangeKind, board: BoardRow, group_id: string): Promise<void> {
  const [group] = await ctx.db.select().from(board_groups).where(eq(board_groups.id, group_id));
  if (!group) return;
  const affected = or(eq(boards.board_group_id, group.id), eq(boards.id, board.id))!;
  const summary = `${board.name} ${kind.toLowerCase()} ${group.name}`;
  const notifications = (await listRecipients(ctx, affected)).flatMap((recipient) =>
    toNotifications(recipient, {
      message: groupUpdatedText({ kind, board, group, recipient }),
      sent: {
        event_type: `${EVENT_PREFIXES[kind]}.notified`,
        ...eventFields(recipient, `Notified ${recipient.name} that ${summary}.`),
      },
      failed: {
        event_type: `${EVENT_PREFIXES[kind]}.notify_failed`,
        ...eventFields(recipient, `Could not notify ${recipient.name} that ${summary}.`),
      },
    }),
  );
  await notifyAll(ctx, notifications);
}

const eventFields = ({ organization_id, board_id, agent_id }: BoardRecipient, message: string) => ({
  organization_id,
  board_id,
  agent_id,
  message,
});
