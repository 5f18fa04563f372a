import { toJson } from "@board/core/values/json";
import type * as z from "zod";
import { shorten } from "./shorten.ts";

/** The description of a list that is a plain array. */
export const ARRAY_DESCRIPTION =
  "The answer has all items, or a part of them with `limit` and `offset`. An array that would be too large ends early; the header X-Limit then has the number of its items, and `offset` continues after them.";

/** The answer of an operation that sets the status or headers itself. */
export class Answer {
  readonly value: unknown;
  readonly status: number;
  readonly headers: Record<string, string>;
  constructor(value: unknown, status: number, headers: Record<string, string>) {
    this.value = value;
    this.status = status;
    this.headers = headers;
  }
}

/**
 * Serializes a value of a schema to at most `max_bytes`. A larger value is shortened: first its large fields, then its lists
 * (docs/reference/conventions.md#size-of-answers). `shown` is the number of items in a shortened array, else null.
 */
export function serialize(schema: z.ZodType, value: unknown, max_bytes: number): { text: string; shown: number | null } {
  const text = toBoundedJson(value, max_bytes);
  if (text !== null) return { text, shown: null };
  const shortened = shorten(schema, value, max_bytes);
  const isCutArray = Array.isArray(value) && Array.isArray(shortened) && shortened.length < value.length;
  return { text: toJson(shortened), shown: isCutArray ? shortened.length : null };
}

/** Lists with more items are serialized item by item, so that serialization can stop at the size limit. */
const LONG_LIST = 500;

/** Returns the JSON of a value, or null if it has more than `max_bytes`. */
function toBoundedJson(value: unknown, max_bytes: number): string | null {
  const text =
    Array.isArray(value) && value.length > LONG_LIST ? toBoundedList(value, max_bytes) : toJsonOfParts(value, max_bytes);
  return text !== null && Buffer.byteLength(text) <= max_bytes ? text : null;
}

function toBoundedList(list: readonly unknown[], max_bytes: number): string | null {
  const items: string[] = [];
  let bytes = 0;
  for (const item of list) {
    const text = toJson(item);
    bytes += Buffer.byteLength(text) + 1;
    if (bytes > max_bytes) return null;
    items.push(text);
  }
  return `[${items.join(",")}]`;
}

/** Serializes the long lists of an object item by item. Any other value is serialized as a whole. */
function toJsonOfParts(value: unknown, max_bytes: number): string | null {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isObject || !Object.values(value).some((member) => Array.isArray(member) && member.length > LONG_LIST))
    return toJson(value);
  const members: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    const text = toBoundedJson(member, max_bytes);
    if (text === null) return null;
    members.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${members.join(",")}}`;
}
