import type { Agent } from "@board/core/context/actor";
import { fromLine } from "@board/core/notification/message-lines";
import { fenceMessage } from "@board/core/values/text";
import { oneLine } from "@board/core/values/wire";

interface BoardRef {
  id: string;
  name: string;
}

interface AgentMessage {
  from: Agent;
  correlation_id: string | null;
  content: string;
  reply_tags: readonly string[];
  reply_source: string;
}

type LeadMessageKind = "question" | "handoff";

const HEADERS = { question: "GATEWAY MAIN QUESTION", handoff: "GATEWAY MAIN HANDOFF" } as const;

const REQUESTS = {
  question: "Answer through the memory of the board, not in its chat:",
  handoff: "Take it over, and report through the memory of the board, not in its chat:",
} as const;

/** Creates the text that a main agent sends to the lead of a board (docs/reference/gateways.md#coordination-messages). */
export function leadMessageText(kind: LeadMessageKind, fields: AgentMessage, board: BoardRef, service_url: string): string {
  return [
    HEADERS[kind],
    ...headerLines(fields, board),
    fenceMessage(fields.content),
    REQUESTS[kind],
    ...replyLines(fields, board, service_url),
  ].join("\n");
}

/** Creates the text by which a lead asks the user through the main agent. */
export function askUserText(
  fields: AgentMessage & { preferred_channel: string | null },
  board: BoardRef,
  service_url: string,
): string {
  const { preferred_channel, content } = fields;
  return [
    "LEAD REQUEST: ASK USER",
    ...headerLines(fields, board),
    ...(preferred_channel ? [`Preferred channel: ${oneLine(preferred_channel)}`] : []),
    fenceMessage(content),
    "How to ask the user:",
    "1. On one of your channels, the preferred one first, if you have any.",
    "2. Otherwise in the chat of the board:",
    `   POST ${memoryUrl(board, service_url)}`,
    '   Body: {"content":"...","tags":["chat"]}',
    "Pass the answer on to the lead through the memory of the board:",
    ...replyLines(fields, board, service_url),
  ].join("\n");
}

const headerLines = ({ from, correlation_id }: AgentMessage, { id, name }: BoardRef): string[] => [
  `Board: ${oneLine(name)}`,
  `Board ID: ${id}`,
  fromLine(from),
  ...(correlation_id ? [`Correlation ID: ${oneLine(correlation_id)}`] : []),
];

const memoryUrl = ({ id }: BoardRef, service_url: string) => `${service_url}/api/v1/agent/boards/${id}/memory`;

function replyLines({ correlation_id, reply_tags, reply_source }: AgentMessage, board: BoardRef, service_url: string): string[] {
  const body = { content: "...", tags: reply_tags.map(oneLine), source: oneLine(reply_source) };
  return [
    `POST ${memoryUrl(board, service_url)}`,
    `Body: ${JSON.stringify(body)}`,
    ...(correlation_id ? ["Name the correlation id in the content."] : []),
  ];
}
