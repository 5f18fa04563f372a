import * as z from "zod";
// `_check` is imported directly, because a bundler cannot remove the unused parts of `z.core`, which include 330 KB of error
// messages in fifty languages.
import { _check } from "zod/v4/core";

/** Building blocks and limits of the request and response schemas (docs/reference/conventions.md#limits). */
export const MAX_NAME = 200;
export const MAX_SLUG = 100;
export const MAX_URL = 2_000;
export const MAX_SECRET = 1_000;
export const MAX_TEXT = 100_000;
export const MAX_OBJECT_BYTES = 65_536;
export const MAX_INTEGER = 2_147_483_647;
/** Maximum number of ids in an array. */
export const MAX_IDS = 200;

/**
 * Creates an object schema whose fields are created at first use. A Lambda function loads the schemas of all its operations, but
 * its first request uses only a few. Creating all fields took an eighth of its start time.
 */
export function lazyObject<Shape extends z.ZodRawShape>(fields: () => Shape): ReturnType<typeof z.object<Shape>> {
  let made: Shape | undefined;
  const def = {
    type: "object" as const,
    get shape(): Shape {
      made ??= fields();
      // The getter is replaced with its value. Zod assumes that an object with a getter may contain itself, and parses such an
      // object more slowly.
      Object.defineProperty(this, "shape", { value: made });
      return made;
    },
  };
  return new z.ZodObject(def) as unknown as ReturnType<typeof z.object<Shape>>;
}

/** Accepts ids in any case and converts them to lower case. */
export const Id = z.guid().toLowerCase();

/**
 * Creates a schema of trimmed text with at least one character. If the text is blank or too long, no further check runs, so that a
 * field reports only one problem.
 */
export const NonEmpty = (max: number) => z.string().trim().min(1).max(max);

/** Creates a schema of trimmed text; blank text becomes null. */
export const TextOrNull = (max: number) =>
  z
    .string()
    .trim()
    .max(max)
    .transform((text) => text || null)
    .nullable();

/** A time in a response: ISO 8601 in UTC with milliseconds. */
export const Instant = z.iso.datetime({ precision: 3 }).meta({ examples: ["2026-11-20T10:24:09.799Z"] });

const ISO = /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*([Zz]|[+-]\d{2}(?::?\d{2})?)?)?$/;

/**
 * Parses an ISO 8601 date or time. A time without a zone is in UTC, and a date alone means midnight. Returns null for invalid
 * text and for years outside 1900 to 9999.
 */
export function toInstant(text: string): Date | null {
  const match = ISO.exec(text.trim());
  if (!match) return null;
  const [, year, month, day, hour = "00", minute = "00", second = "00", fraction = "", zone = "Z"] = match;
  const offset = /^[Zz]$/.test(zone) ? "Z" : zone.length === 3 ? `${zone}:00` : zone.replace(/^(...)(\d\d)$/, "$1:$2");
  const date = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.padEnd(3, "0").slice(0, 3)}${offset}`);
  if (Number.isNaN(date.getTime())) return null;
  const dayExists = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
  const inRange = date.getUTCFullYear() >= 1900 && date.getUTCFullYear() <= 9999;
  return dayExists && inRange ? date : null;
}

/** A time in a request body. */
export const InstantInput = z
  .string()
  .transform((text, ctx) => {
    const date = toInstant(text);
    if (date) return date;
    ctx.issues.push({ code: "invalid_format", format: "datetime", input: text });
    return z.NEVER;
  })
  .meta({ override: { type: "string", format: "date-time" } });

/** A JSON object that is stored unchanged. */
export const JsonObject = z
  .record(z.string(), z.unknown())
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= MAX_OBJECT_BYTES, {
    error: `Object should have at most ${MAX_OBJECT_BYTES} bytes`,
  });

export const NOT_AN_INTEGER = "Input should be a valid integer";

/**
 * Creates a schema of an integer in a request body. Zod reports the expected type of integers as "number" too, so the text
 * NOT_AN_INTEGER distinguishes them.
 */
export const Integer = (min: number, max: number) =>
  z
    .number(NOT_AN_INTEGER)
    .min(min)
    .max(max)
    .check(
      _check<number>(
        ({ value, issues }) => {
          if (!Number.isInteger(value)) issues.push({ code: "invalid_type", expected: "int", input: value });
        },
        { when: isValidSoFar },
      ),
    )
    .meta({ override: { type: "integer", minimum: min, maximum: max } });

/** Creates a schema of an integer in the query string. */
export const QueryInteger = (min: number, max: number) =>
  z
    .string()
    .transform((text, ctx) => {
      if (/^[+-]?\d{1,15}$/.test(text.trim())) return Number(text);
      ctx.issues.push({ code: "invalid_type", expected: "int", input: text });
      return z.NEVER;
    })
    .pipe(z.int().min(min).max(max))
    .meta({ override: { type: "integer", minimum: min, maximum: max } });

/** A boolean in the query string. */
export const QueryBoolean = z
  .stringbool({ truthy: ["true", "1", "yes", "on", "t", "y"], falsy: ["false", "0", "no", "off", "f", "n"] })
  .meta({ override: { type: "boolean" } });

export const Ok = lazyObject(() => ({ ok: z.literal(true).describe("The operation succeeded.") })).meta({
  id: "Ok",
  description: "The operation succeeded.",
});
export const ok: z.infer<typeof Ok> = { ok: true };

/**
 * Checks whether a value has no problems so far. Used as the `when` of a check that needs a valid value, because problems of fields
 * do not stop the checks of objects.
 */
export const isValidSoFar = ({ issues }: { issues: readonly unknown[] }): boolean => issues.length === 0;

/**
 * Returns the `when` of a check that reads some fields of an object. The check runs if these fields have no problems, even if other
 * fields have.
 */
export const areValid =
  (...fields: readonly string[]) =>
  ({ issues }: { issues: readonly { path?: PropertyKey[] | undefined }[] }): boolean =>
    issues.every(({ path }) => path !== undefined && path.length > 0 && !fields.includes(String(path[0])));

/**
 * Creates a check of a whole object. It runs even if some fields have problems, so that the caller learns of all problems at once.
 * `fail` without a text reports that the field is missing.
 */
export const objectCheck = <T extends object>(check: (value: T, fail: (field: string, text?: string) => void) => void) =>
  _check<T>(
    ({ value, issues }) =>
      check(value, (field, text) =>
        issues.push(
          text === undefined
            ? { code: "invalid_type", expected: "string", path: [field], input: undefined }
            : { code: "custom", message: `Value error, ${text}`, path: [field], input: value },
        ),
      ),
    { when: ({ issues }: z.core.ParsePayload) => issues.every(({ path }) => path !== undefined && path.length > 0) },
  );

/** Returns the error of a rule that a schema cannot express. The response reads `Value error, <text>`. */
export const valueError = (text: string) => ({ error: `Value error, ${text}` });

/**
 * Converts text to a slug: lower case, with one hyphen for each run of other characters, but none at the ends. `Bug / Issue`
 * becomes `bug-issue`. Returns `fallback` if nothing is left.
 */
export function slugify(text: string, fallback: string): string {
  const slug = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
  return slug || fallback;
}

/**
 * Makes a text fit on one line of a message. Control characters, line breaks and characters that reverse the text direction
 * become spaces.
 */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\u2028-\u202E\u2066-\u2069]+/gu, " ").trim();
