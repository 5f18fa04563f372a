import { promisify } from "node:util";
import { deflateRaw, inflateRaw } from "node:zlib";
import type { SentStep, Step } from "./step.ts";

/** Limit for each text of a step. */
const MAX_TEXT_BYTES = 16_384;
/** Limit for each list of a step, such as the entries of a plan. */
const MAX_ITEMS = 200;
/** A character of UTF-16 has at most three bytes in UTF-8. */
const BYTES_PER_CHAR = 3;
/** Larger than any stored batch. It limits how much memory a corrupt row can take when it is decompressed. */
const MAX_BATCH_BYTES = 16_000_000;

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

/** A step as it is stored. Its number is left out, because the position of the step determines it. */
type PackedStep = Omit<Step, "n">;

/** A step as JSON, with its texts and lists cut. */
export interface PreparedStep {
  json: string;
  bytes: number;
}

export function prepareStep({ at, ...step }: SentStep, now: Date): PreparedStep {
  const cut = { truncated: false };
  const fields = Object.fromEntries(
    Object.entries(step).map(([name, value]) => [
      name,
      name === "input" || name === "output" ? cutJson(value, cut) : cutTexts(value, cut),
    ]),
  );
  const stored = { ...fields, at: (at ?? now).toISOString(), ...(cut.truncated ? { truncated: true } : {}) };
  const json = JSON.stringify(stored);
  return { json, bytes: Buffer.byteLength(json) };
}

/** Shortens every text and list in a value. The value matches its schema, so it is not deeply nested. */
function cutTexts(value: unknown, cut: { truncated: boolean }): unknown {
  if (typeof value === "string") return cutText(value, cut);
  if (Array.isArray(value)) {
    cut.truncated ||= value.length > MAX_ITEMS;
    return value.slice(0, MAX_ITEMS).map((item) => cutTexts(item, cut));
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, cutTexts(item, cut)]));
}

/** Keeps short JSON unchanged. Longer JSON becomes a text with its beginning. */
function cutJson(value: unknown, cut: { truncated: boolean }): unknown {
  if (value === undefined || typeof value === "string") return value === undefined ? value : cutText(value, cut);
  const json = JSON.stringify(value);
  return isLong(json) ? cutText(json, cut) : value;
}

const isLong = (text: string) => text.length * BYTES_PER_CHAR > MAX_TEXT_BYTES && Buffer.byteLength(text) > MAX_TEXT_BYTES;

function cutText(text: string, cut: { truncated: boolean }): string {
  if (!isLong(text)) return text;
  cut.truncated = true;
  // With `stream`, the decoder leaves out a character that was cut in the middle.
  return new TextDecoder().decode(Buffer.from(text).subarray(0, MAX_TEXT_BYTES), { stream: true });
}

export const pack = (steps: readonly PreparedStep[]): Promise<Buffer> => deflate(`[${steps.map(({ json }) => json).join(",")}]`);

export async function unpack(body: Uint8Array, first: number): Promise<Step[]> {
  const text = await inflate(body, { maxOutputLength: MAX_BATCH_BYTES });
  return (JSON.parse(text.toString()) as PackedStep[]).map((step, index) => ({ n: first + index, ...step }) as Step);
}
