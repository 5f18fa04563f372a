import { toJson } from "@board/core/json";
import type * as z from "zod";
import { shorten } from "./shorten.ts";

/** The description of a list that is a plain array. */
export const ARRAY_DESCRIPTION =
  "All of them, or a part with `limit` and `offset`. An array that would be too large ends early; the header X-Limit then has the number of its items, with which `offset` continues.";

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
 * Serializes a value of a schema to at most `max_bytes`. A larger one is shortened (docs/reference/conventions.md#size-of-answers):
 * first its large fields, then its lists. `shown` is the number of items of an array that ends early, else null.
 */
export function serialize(schema: z.ZodType, value: unknown, max_bytes: number): { text: string; shown: number | null } {
  const text = toJson(value);
  if (Buffer.byteLength(text) <= max_bytes) return { text, shown: null };
  const shortened = shorten(schema, value, max_bytes);
  const isCutArray = Array.isArray(value) && Array.isArray(shortened) && shortened.length < value.length;
  return { text: toJson(shortened), shown: isCutArray ? shortened.length : null };
}
