import { cut, fence } from "../text.ts";
import { oneLine } from "../wire.ts";

const PREVIEW_CHARS = 4_000;

interface Facts {
  board_id: string;
  webhook_id: string;
  payload_id: string;
  /** The webhook's description: written by people of the board, so it is an instruction. */
  instruction: string;
  /** The payload as text: written by anybody, so it only ever stands inside the fence. */
  text: string;
}

function preview(text: string): string {
  const plain = text.replaceAll("\0", "\uFFFD").toWellFormed();
  return fence(plain.length > PREVIEW_CHARS ? `${cut(plain, PREVIEW_CHARS)}...` : plain);
}

/** What the board remembers of a post (contract webhooks.md §4). */
export function memoryContent(facts: Facts): string {
  const { board_id, webhook_id, payload_id } = facts;
  return [
    "WEBHOOK PAYLOAD RECEIVED",
    `Webhook ID: ${webhook_id}`,
    `Payload ID: ${payload_id}`,
    `Instruction: ${facts.instruction}`,
    `Inspect (API): /api/v1/boards/${board_id}/webhooks/${webhook_id}/payloads/${payload_id}`,
    "Payload preview:",
    preview(facts.text),
  ].join("\n");
}

/** What the agent is told (contract webhooks.md §5). The steps stand before the fence. */
export function notificationText(facts: Facts & { board_name: string }): string {
  const { board_id, webhook_id, payload_id } = facts;
  return [
    "WEBHOOK EVENT RECEIVED",
    `Board: ${oneLine(facts.board_name)}`,
    `Webhook ID: ${webhook_id}`,
    `Payload ID: ${payload_id}`,
    `Instruction: ${facts.instruction}`,
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
    preview(facts.text),
  ].join("\n");
}
