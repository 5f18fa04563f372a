import { eq } from "drizzle-orm";
import type { BoardRow } from "../access.ts";
import type { Agent, User } from "../actor.ts";
import { isMentioned, mentionsOf } from "../agent/mention.ts";
import { type BoardRecipient, listRecipients } from "../agent/recipient.ts";
import { boards } from "../board/board.sql.ts";
import type { Context } from "../context.ts";
import { notify } from "../notice/notice.ts";
import { boardChatText, groupChatText } from "./message.ts";

type Speaking = Context<User | Agent>;

/** How whoever writes is named to others. */
export const nameOf = (actor: User | Agent): string => (actor.type === "agent" ? actor.name : actor.display_name);

/**
 * Tells a board's agents what was said in its chat, in the transaction of the entry: `/pause` and `/resume` go to all as
 * they stand, anything else to those it mentions and to the lead. Never to the author.
 */
export async function announce(ctx: Speaking, board: BoardRow, content: string): Promise<void> {
  const listeners = await othersOn(ctx, eq(boards.id, board.id));
  const command = commandOf(content);
  const mentions = mentionsOf(content);
  for (const listener of listeners) {
    if (command) {
      await notify(ctx, listener, { message: command, deliver: true });
      continue;
    }
    const mentioned = isMentioned(listener, mentions);
    if (!mentioned && !listener.is_board_lead) continue;
    const said = { header: mentioned ? "BOARD CHAT MENTION" : "BOARD CHAT", from: nameOf(ctx.actor), content };
    await notify(ctx, listener, { message: boardChatText(said, board, ctx.settings.service_url) });
  }
}

/** Trimmed as the board's own state and the index behind it do it: of spaces alone. What agents hear and what it shows must agree. */
const commandOf = (content: string): string | null => /^ *(\/(?:pause|resume)) *$/i.exec(content)?.[1]?.toLowerCase() ?? null;

/** Tells the agents of a group's boards what was said in it: a broadcast to all, else to those it mentions and to the leads. */
export async function announceInGroup(
  ctx: Speaking,
  group: { id: string; name: string },
  { content, broadcast }: { content: string; broadcast: boolean },
): Promise<void> {
  const mentions = mentionsOf(content);
  for (const listener of await othersOn(ctx, eq(boards.board_group_id, group.id))) {
    const mentioned = isMentioned(listener, mentions);
    if (!broadcast && !mentioned && !listener.is_board_lead) continue;
    const header = broadcast ? "GROUP BROADCAST" : mentioned ? "GROUP CHAT MENTION" : "GROUP CHAT";
    const said = { header, from: nameOf(ctx.actor), content };
    await notify(ctx, listener, { message: groupChatText(said, group, listener.board_id, ctx.settings.service_url) });
  }
}

async function othersOn(ctx: Speaking, which: Parameters<typeof listRecipients>[1]): Promise<BoardRecipient[]> {
  const author = ctx.actor.type === "agent" ? ctx.actor.agent_id : null;
  return (await listRecipients(ctx, which)).filter(({ agent_id }) => agent_id !== author);
}
