import { quote } from "../../text.ts";
import { oneLine } from "../../wire.ts";

interface Place {
  id: string;
  name: string;
}

interface Letter {
  /** Name of the agent that writes. */
  from: string;
  correlation_id: string | null;
  content: string;
  reply_tags: readonly string[];
  reply_source: string;
}

export type LeadMessageKind = "question" | "handoff";

const HEADERS = { question: "GATEWAY MAIN QUESTION", handoff: "GATEWAY MAIN HANDOFF" } as const;

const REQUESTS = {
  question: "Answer through the memory of the board, not in its chat:",
  handoff: "Take it over, and report through the memory of the board, not in its chat:",
} as const;

/** What a main agent says to the lead of a board (contract gateways.md §14). */
export function leadMessageText(kind: LeadMessageKind, letter: Letter, board: Place, service_url: string): string {
  return [
    HEADERS[kind],
    ...opening(letter, board),
    quote(letter.content),
    REQUESTS[kind],
    ...reply(letter, board, service_url),
  ].join("\n");
}

/** What a lead has the main agent ask the user. */
export function askUserText(letter: Letter & { preferred_channel: string | null }, board: Place, service_url: string): string {
  const { preferred_channel, content } = letter;
  return [
    "LEAD REQUEST: ASK USER",
    ...opening(letter, board),
    ...(preferred_channel ? [`Preferred channel: ${oneLine(preferred_channel)}`] : []),
    quote(content),
    "How to ask the user:",
    "1. On one of your own channels if you have any, the preferred one first.",
    "2. Otherwise in the chat of the board:",
    `   POST ${memory(board, service_url)}`,
    '   Body: {"content":"...","tags":["chat"]}',
    "Pass the answer on to the lead through the memory of the board:",
    ...reply(letter, board, service_url),
  ].join("\n");
}

const opening = ({ from, correlation_id }: Letter, { id, name }: Place): string[] => [
  `Board: ${oneLine(name)}`,
  `Board ID: ${id}`,
  `From: ${oneLine(from)}`,
  ...(correlation_id ? [`Correlation ID: ${oneLine(correlation_id)}`] : []),
];

const memory = ({ id }: Place, service_url: string) => `${service_url}/api/v1/agent/boards/${id}/memory`;

function reply({ correlation_id, reply_tags, reply_source }: Letter, board: Place, service_url: string): string[] {
  const body = { content: "...", tags: reply_tags.map(oneLine), source: oneLine(reply_source) };
  return [
    `POST ${memory(board, service_url)}`,
    `Body: ${JSON.stringify(body)}`,
    ...(correlation_id ? ["Name the correlation id in the content."] : []),
  ];
}
