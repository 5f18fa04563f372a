import * as z from "zod";
import { toInstant } from "../wire.ts";

/** A query string turns the plus before a zone into a space. */
const LOST_PLUS = /^(\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}\S*) (\d{2}(?::?\d{2})?)$/;

/** `since` of a stream: from when on rows are sent. Null, which is now, when it is absent, blank or `null`. */
export const Since = z
  .string()
  .transform((text, ctx): Date | null => {
    const plain = text.trim();
    if (plain === "" || plain === "null") return null;
    const date = toInstant(plain.replace(LOST_PLUS, "$1+$2"));
    if (date) return date;
    ctx.issues.push({ code: "invalid_format", format: "datetime", input: text });
    return z.NEVER;
  })
  .default(null)
  .describe("Start with what was written from then on; now when absent. A Last-Event-ID header wins.")
  .meta({ override: { type: "string", format: "date-time" } });
