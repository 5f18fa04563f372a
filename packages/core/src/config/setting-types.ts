import type { KeyObject } from "node:crypto";
import * as z from "zod";
import { toKey } from "../values/seal.ts";
import { trimEndOf } from "../values/text.ts";

/** The types of settings. `rule` describes a type in docs/settings.md. */

export const commaSeparated = z
  .string()
  .default("")
  .transform((text) =>
    text
      .split(",")
      .map((part) => part.trim())
      .filter(Boolean),
  )
  .meta({ rule: "list, comma-separated" });
/** The origins are put into a header, so each value must be an origin and nothing else. */
export const origins = commaSeparated
  .refine((list) => list.every((text) => URL.canParse(text) && new URL(text).origin === text), {
    error: "must be origins such as https://login.example.com, comma-separated",
  })
  .meta({ rule: "list of origins, comma-separated" });
export const isWholeNumber = (text: string, min: number, max: number) =>
  /^\d{1,12}$/.test(text) && Number(text) >= min && Number(text) <= max;
export const wholeNumber = (fallback: number, max: number, min = 0) =>
  z
    .string()
    .default(String(fallback))
    .refine((text) => isWholeNumber(text, min, max), { error: `must be a whole number from ${min} to ${max}` })
    .transform(Number)
    .meta({ rule: `whole number from ${min} to ${max}` });
export const httpUrl = z
  .string()
  .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), {
    error: "must be an absolute http or https URL",
  })
  .transform((text) => trimEndOf(text, "/"))
  .meta({ rule: "absolute http or https URL" });
/** A public address that the service itself requests. */
export const httpsUrl = httpUrl
  .refine((text) => /^https:\/\/[^/@]+(\/|$)/i.test(text), { error: "must be an absolute https URL without credentials" })
  .meta({ rule: "absolute https URL without credentials" });
/** The URL is not normalized, because the `iss` claim must match exactly, including a trailing slash. */
export const issuer = z
  .string()
  .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), {
    error: "must be an absolute http or https URL",
  })
  .meta({ rule: "absolute http or https URL" });
export const base64Key = z
  .string()
  .transform((text, ctx): KeyObject => {
    try {
      return toKey(text);
    } catch {
      ctx.issues.push({ code: "custom", message: "must be 32 bytes in Base64", input: undefined });
      return z.NEVER;
    }
  })
  .meta({ rule: "32 bytes in Base64", secret: true });
export const optionalHeader = (fallback: string | null) =>
  z
    .string()
    .optional()
    .refine((value) => value === undefined || /^[\x20-\x7e]*$/.test(value), { error: "must be printable ASCII" })
    .transform((value) => (value === undefined ? fallback : value.toLowerCase() === "off" ? null : value))
    .meta({ rule: "printable ASCII" });
