import { setImmediate as breathe } from "node:timers/promises";
import * as z from "zod";
import { DomainError } from "../errors.ts";
import { MAX_OBJECT_BYTES, MAX_TEXT, MAX_URL, toInstant } from "../wire.ts";

const FIELD_TYPES = ["text", "text_long", "integer", "decimal", "boolean", "date", "date_time", "url", "json"] as const;
const VISIBILITIES = ["always", "if_set", "hidden"] as const;
export type FieldType = (typeof FIELD_TYPES)[number];

export const FieldType = z.enum(FIELD_TYPES);
export const Visibility = z.enum(VISIBILITIES);

/** One of the names or of their aliases, in any case; the name comes out. */
const named = <const Name extends string>(names: readonly [Name, ...Name[]], aliases: Readonly<Record<string, Name>>) =>
  z
    .string()
    .trim()
    .toLowerCase()
    .transform((text) => (Object.hasOwn(aliases, text) ? aliases[text]! : text))
    .pipe(z.enum(names))
    .meta({ override: { type: "string", enum: [...names, ...Object.keys(aliases)] } });

export const FieldTypeIn = named(FIELD_TYPES, {
  "text (long)": "text_long",
  long_text: "text_long",
  "true/false": "boolean",
  "date & time": "date_time",
  datetime: "date_time",
});
export const VisibilityIn = named(VISIBILITIES, { "if set": "if_set" });

/** What a value has to obey. */
export interface FieldRule {
  field_type: FieldType;
  validation_regex: string | null;
}

/** Why a value does not fit its field, in words; null when it does. */
export type Judge = (value: unknown) => Promise<string | null>;

/** The judge of a field's values. Null, an empty field, always fits. */
export async function judgeOf({ field_type, validation_regex }: FieldRule): Promise<Judge> {
  const match = validation_regex === null ? null : await compilePattern(validation_regex);
  return async (value) => {
    if (value === null) return null;
    const reason = REASONS[field_type](value);
    if (reason !== null || !match || typeof value !== "string") return reason;
    // One text is soon matched; many in a row must let other requests in between.
    await breathe();
    return match(value);
  };
}

const textOf = (max: number, fits: (text: string) => boolean, otherwise: string) => (value: unknown) => {
  if (typeof value !== "string") return "must be a string";
  if (value.length > max) return `must have at most ${max} characters`;
  return fits(value) ? null : otherwise;
};
const anyText = textOf(MAX_TEXT, () => true, "");
const kind = (fits: (value: unknown) => boolean, otherwise: string) => (value: unknown) => (fits(value) ? null : otherwise);

const REASONS: Readonly<Record<FieldType, (value: unknown) => string | null>> = {
  text: anyText,
  text_long: anyText,
  integer: kind(Number.isInteger, "must be an integer"),
  decimal: kind(Number.isFinite, "must be a number"),
  boolean: kind((value) => typeof value === "boolean", "must be a boolean"),
  date: textOf(MAX_TEXT, (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && toInstant(text) !== null, "must be an ISO date"),
  date_time: textOf(MAX_TEXT, (text) => /^\S{10}[Tt ]\S.*\S$/.test(text) && toInstant(text) !== null, "must be an ISO datetime"),
  url: textOf(MAX_URL, isWebAddress, "must be an http or https URL"),
  json: (value) => {
    if (typeof value !== "object") return "must be a JSON object or array";
    const fits = Buffer.byteLength(JSON.stringify(value)) <= MAX_OBJECT_BYTES;
    return fits ? null : `must have at most ${MAX_OBJECT_BYTES} bytes`;
  },
};

/** The parser alone would mend a great deal: missing slashes, blanks around and inside. */
function isWebAddress(text: string): boolean {
  return /^https?:\/\/[^\s/\\]\S*$/i.test(text) && URL.canParse(text);
}

const PATTERN_TYPES: readonly FieldType[] = ["text", "text_long", "date", "date_time", "url"];

/**
 * Checks what a definition says of its values: the pattern, then the default. Throws `invalid` with a text.
 * Patterns are of RE2: what needs backtracking (look-around, back references) does not exist there.
 */
export async function checkRule(field: FieldRule & { default_value: unknown }): Promise<void> {
  if (field.validation_regex !== null && !PATTERN_TYPES.includes(field.field_type))
    throw new DomainError("invalid", `validation_regex is only supported for ${PATTERN_TYPES.join(", ")} fields.`);
  const reason = await (await judgeOf(field))(field.default_value);
  if (reason !== null) throw new DomainError("invalid", `default_value ${reason}.`);
}

/** Instructions of a compiled pattern. Five hundred characters can become half a million of them by counted repetition. */
const MAX_INSTRUCTIONS = 2_500;
/** Matching takes, at worst, instructions times characters; this many are half a second of the most hostile ones. */
const MAX_STEPS = 10_000_000;

/** The engine is linear in the text and in the pattern, and both are bounded. It is loaded where a pattern is, and only there. */
async function compilePattern(source: string): Promise<(text: string) => string | null> {
  const { RE2JS, RE2JSException } = await import("re2js");
  let pattern: InstanceType<typeof RE2JS>;
  try {
    pattern = RE2JS.compile(source);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    throw new DomainError("invalid", `validation_regex cannot be used: ${error.message}.`);
  }
  const instructions = pattern.programSize();
  if (instructions > MAX_INSTRUCTIONS)
    throw new DomainError("invalid", "validation_regex is too large: its counted repetitions unfold to too many steps.");
  return (text) => {
    if (text.length * instructions > MAX_STEPS) return "is too long for its validation_regex";
    return pattern.matches(text) ? null : "does not match validation_regex";
  };
}
