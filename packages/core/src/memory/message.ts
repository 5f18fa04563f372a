import type { Agent, User } from "../context/actor.ts";
import { fromLine } from "../notification/message-lines.ts";
import { ellipsize, fenceMessage } from "../values/text.ts";
import { oneLine } from "../values/wire.ts";

const SNIPPET_CHARS = 800;
const REPLY_BODY = 'Body: {"content":"...","tags":["chat"]}';

interface ChatMessage {
  header: string;
  from: User | Agent;
  content: string;
}

/** Returns the text that notifies an agent of a message in its board's chat (docs/reference/gateways.md#chat-messages). */
export function boardChatText(message: ChatMessage, board: { id: string; name: string }, service_url: string): string {
  return [
    message.header,
    `Board: ${oneLine(board.name)}`,
    ...messageLines(message),
    "Reply in the board chat when an answer is due:",
    `POST ${service_url}/api/v1/agent/boards/${board.id}/memory`,
    REPLY_BODY,
  ].join("\n");
}

/** Returns the text that notifies an agent of a message in the chat of a board group. The agent replies through its own board. */
export function groupChatText(message: ChatMessage, group: { name: string }, board_id: string, service_url: string): string {
  return [
    message.header,
    `Group: ${oneLine(group.name)}`,
    ...messageLines(message),
    "Reply in the group chat when an answer is due:",
    `POST ${service_url}/api/v1/boards/${board_id}/group-memory`,
    REPLY_BODY,
  ].join("\n");
}

/**
 * Returns the lines with the author and the content. The fence around the content prevents its author from forging the lines that
 * follow.
 */
const messageLines = ({ from, content }: ChatMessage) => [fromLine(from), fenceMessage(ellipsize(content.trim(), SNIPPET_CHARS))];
