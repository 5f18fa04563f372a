import { eq } from "drizzle-orm";
import { mentionJobs } from "../alert/mention-jobs.ts";
import { enqueueAll } from "../job/job.ts";
import type { BoardRow } from "../organization/access.ts";
import { agentIdOf } from "../context/actor.ts";
import { type BoardRecipient, listRecipients } from "../notification/recipient.ts";
import { boards } from "../schema/board.sql.ts";
import type { CallerContext } from "../context/context.ts";
import { isMentioned, parseMentions } from "../values/mention.ts";
import { notify } from "../notification/notification.ts";
import { PAUSE_COMMANDS } from "../schema/memory.sql.ts";
import { boardChatText, groupChatText } from "./message.ts";

interface Group {
  id: string;
  organization_id: string;
}

const placeOfBoard = ({ id, organization_id }: BoardRow) => ({ organization_id, board_id: id, subject_id: id });
const placeOfGroup = ({ id, organization_id }: Group) => ({ organization_id, board_id: null, subject_id: id });

/** Notifies the people whom a note of a board's memory mentions. Agents read notes when they need them. */
export const notifyBoardNote = async (ctx: CallerContext, board: BoardRow, content: string): Promise<void> =>
  notifyPeople(ctx, placeOfBoard(board), content, await listOtherAgents(ctx, eq(boards.id, board.id)));

/** Notifies the people whom a note of a group's memory mentions. */
export const notifyGroupNote = async (ctx: CallerContext, group: Group, content: string): Promise<void> =>
  notifyPeople(ctx, placeOfGroup(group), content, await listOtherAgents(ctx, eq(boards.board_group_id, group.id)));

/** Notifies the people whom a text mentions. Names of agents take precedence over names of people. */
const notifyPeople = (
  ctx: CallerContext,
  place: ReturnType<typeof placeOfBoard> | ReturnType<typeof placeOfGroup>,
  text: string,
  agents: readonly BoardRecipient[],
): Promise<void> => enqueueAll(ctx, mentionJobs(ctx.actor, { ...place, task_id: null, text }, agents));

/**
 * Notifies the agents of a board, except the author, about a chat message. `/pause` and `/resume` go to all agents, as bare
 * commands. Other messages go to the mentioned agents and the lead.
 */
export async function notifyBoardChat(ctx: CallerContext, board: BoardRow, content: string): Promise<void> {
  const recipients = await listOtherAgents(ctx, eq(boards.id, board.id));
  await notifyPeople(ctx, placeOfBoard(board), content, recipients);
  const command = parsePauseCommand(content);
  const mentions = parseMentions(content);
  for (const recipient of recipients) {
    if (command) {
      await notify(ctx, recipient, { command, deliver: true });
      continue;
    }
    const mentioned = isMentioned(recipient, mentions);
    if (!mentioned && !recipient.is_board_lead) continue;
    const message = { header: mentioned ? "BOARD CHAT MENTION" : "BOARD CHAT", from: ctx.actor, content };
    await notify(ctx, recipient, { message: boardChatText(message, board, ctx.settings.service_url) });
  }
}

/**
 * Allows only spaces around the command, like SQL's trim() in `isPaused`. Otherwise agents could get a command that does not
 * pause or resume the board.
 */
const PAUSE_PATTERN = new RegExp(`^ *(${PAUSE_COMMANDS.join("|")}) *$`, "i");

const parsePauseCommand = (content: string) =>
  PAUSE_PATTERN.test(content) ? (PAUSE_COMMANDS.find((command) => command === content.trim().toLowerCase()) ?? null) : null;

/**
 * Notifies the agents of a group's boards, except the author. A broadcast goes to all agents. Other messages go to mentioned
 * agents and leads.
 */
export async function notifyGroupChat(
  ctx: CallerContext,
  group: Group & { name: string },
  { content, broadcast }: { content: string; broadcast: boolean },
): Promise<void> {
  const mentions = parseMentions(content);
  const recipients = await listOtherAgents(ctx, eq(boards.board_group_id, group.id));
  await notifyPeople(ctx, placeOfGroup(group), content, recipients);
  for (const recipient of recipients) {
    const mentioned = isMentioned(recipient, mentions);
    if (!broadcast && !mentioned && !recipient.is_board_lead) continue;
    const header = broadcast ? "GROUP BROADCAST" : mentioned ? "GROUP CHAT MENTION" : "GROUP CHAT";
    const message = { header, from: ctx.actor, content };
    await notify(ctx, recipient, { message: groupChatText(message, group, recipient.board_id, ctx.settings.service_url) });
  }
}

async function listOtherAgents(ctx: CallerContext, condition: Parameters<typeof listRecipients>[1]): Promise<BoardRecipient[]> {
  const author_id = agentIdOf(ctx.actor);
  return (await listRecipients(ctx, condition)).filter(({ agent_id }) => agent_id !== author_id);
}
