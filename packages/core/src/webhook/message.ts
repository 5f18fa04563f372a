import { fence, snippet } from "../values/text.ts";
import { oneLine } from "../values/wire.ts";

const PREVIEW_CHARS = 4_000;

export interface PayloadFacts {
  board_id: string;
  webhook_id: string;
  payload_id: string;
  /** The description of the webhook. A member of the board wrote it, so the agent may follow it. */
  instruction: string;
  /** One line about the event. Anyone may have written this and `text`, so both appear only inside the fence. */
  summary: string | null;
  text: string;
}

/**
 * Returns the fenced preview of the post. PostgreSQL cannot store NUL or lone surrogates, so the preview has U+FFFD in their place.
 */
function preview({ summary, text }: Pick<PayloadFacts, "summary" | "text">): string {
  const shown = snippet(text.replaceAll("\0", "\uFFFD").toWellFormed(), PREVIEW_CHARS);
  return fence(summary === null ? shown : `${summary}\n${shown}`);
}

/**
 * Returns the line with the instruction, which may have several lines. Lines that look like the edge of a fence are quoted, so that
 * only the preview has a fence.
 */
const instructionLine = ({ instruction }: PayloadFacts) =>
  `Instruction: ${instruction.replace(/^--- (?=BEGIN |END )/gm, "> $&")}`;

/** Returns the memory entry about a payload (docs/reference/webhooks.md#memory-entry). */
export function memoryContent(facts: PayloadFacts): string {
  const { board_id, webhook_id, payload_id } = facts;
  return [
    "WEBHOOK PAYLOAD RECEIVED",
    `Webhook ID: ${webhook_id}`,
    `Payload ID: ${payload_id}`,
    instructionLine(facts),
    `Inspect (API): /api/v1/boards/${board_id}/webhooks/${webhook_id}/payloads/${payload_id}`,
    "Payload preview:",
    preview(facts),
  ].join("\n");
}

/** Returns the message to the target agent (docs/reference/webhooks.md#notification). The instructions come before the fence. */
export function notificationText(facts: PayloadFacts & { board_name: string }): string {
  const { board_id, webhook_id, payload_id } = facts;
  return [
    "WEBHOOK EVENT RECEIVED",
    `Board: ${oneLine(facts.board_name)}`,
    `Webhook ID: ${webhook_id}`,
    `Payload ID: ${payload_id}`,
    instructionLine(facts),
    "",
    "Take action:",
    "1. Judge the payload against the instruction; the preview may be cut, the whole payload is at",
    `   GET /api/v1/agent/boards/${board_id}/webhooks/${webhook_id}/payloads/${payload_id}`,
    "2. Create or update the tasks that it calls for.",
    `3. Name payload ${payload_id} in their descriptions, so that the work can be traced back.`,
    "",
    "What the board remembers:",
    `GET /api/v1/agent/boards/${board_id}/memory?is_chat=false`,
    "",
    "Payload preview:",
    preview(facts),
  ].join("\n");
}
