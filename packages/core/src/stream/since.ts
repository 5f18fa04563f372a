import * as z from "zod";
import { toInstant } from "../values/wire.ts";

/** A time whose `+` before the zone was not escaped in the query string. It arrives as a space. */
const LOST_PLUS = /^(\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}\S*) (\d{2}(?::?\d{2})?)$/;

/**
 * The query parameter `since` of a stream. Null means that the stream starts now. The parameter is then absent, blank or `null`.
 */
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
  .describe("Start with rows written from this time on; now when absent. A Last-Event-ID header takes precedence.")
  .meta({ override: { type: "string", format: "date-time" } });
