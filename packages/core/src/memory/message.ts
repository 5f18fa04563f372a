import { abridge, quote } from "../text.ts";
import { oneLine } from "../wire.ts";

const SNIPPET_CHARS = 800;
const BODY = 'Body: {"content":"...","tags":["chat"]}';

interface Said {
  header: string;
  /** Who says it. */
  from: string;
  content: string;
}

/** What an agent is told of its board's chat (contract gateways.md §14). */
export function boardChatText(said: Said, board: { id: string; name: string }, service_url: string): string {
  return [
    said.header,
    `Board: ${oneLine(board.name)}`,
    ...words(said),
    "Reply in the board chat when an answer is due:",
    `POST ${service_url}/api/v1/agent/boards/${board.id}/memory`,
    BODY,
  ].join("\n");
}

/** What an agent is told of its board group's chat. It answers from its own board. */
export function groupChatText(said: Said, group: { name: string }, board_id: string, service_url: string): string {
  return [
    said.header,
    `Group: ${oneLine(group.name)}`,
    ...words(said),
    "Reply in the group chat when an answer is due:",
    `POST ${service_url}/api/v1/boards/${board_id}/group-memory`,
    BODY,
  ].join("\n");
}

/** The words of others end where their quotation ends, so that no line after it can be theirs. */
const words = ({ from, content }: Said) => [`From: ${oneLine(from)}`, quote(abridge(content.trim(), SNIPPET_CHARS))];
