import * as z from "zod";
import { DomainError } from "../../values/errors.ts";
import { MAX_OBJECT_BYTES, MAX_TEXT, MAX_URL, toInstant } from "../../values/wire.ts";
import { FIELD_TYPES, VISIBILITIES } from "../../schema/task-custom-field.sql.ts";
import { type PatternMatcher, validatePattern } from "./pattern-match.ts";

export type FieldType = (typeof FIELD_TYPES)[number];

export const FieldType = z.enum(FIELD_TYPES);
export const Visibility = z.enum(VISIBILITIES);

/**
 * Accepts a name or one of its aliases, case-insensitively, and returns the name. The OpenAPI document does not list the aliases,
 * because client generators would give an alias and its name the same constant.
 */
const enumWithAliases = <const Name extends string>(names: readonly [Name, ...Name[]], aliases: Readonly<Record<string, Name>>) =>
  z
    .string()
    .trim()
    .toLowerCase()
    .transform((text) => (Object.hasOwn(aliases, text) ? aliases[text]! : text))
    .pipe(z.enum(names))
    .meta({ override: { type: "string", enum: [...names] } });

export const FieldTypeIn = enumWithAliases(FIELD_TYPES, {
  "text (long)": "text_long",
  long_text: "text_long",
  "true/false": "boolean",
  "date & time": "date_time",
  datetime: "date_time",
});
export const VisibilityIn = enumWithAliases(VISIBILITIES, { "if set": "if_set" });

/** The rule for the values of a field. */
export interface FieldRule {
  field_type: FieldType;
  validation_regex: string | null;
}

/**
 * Returns why a value does not fit the type of its field, or null if it does. A null value means an empty field, which fits every
 * type.
 */
export const checkType = (field_type: FieldType, value: unknown): string | null =>
  value === null ? null : TYPE_CHECKS[field_type](value);

const textCheck = (max: number, isValid: (text: string) => boolean, reason: string) => (value: unknown) => {
  if (typeof value !== "string") return "must be a string";
  if (value.length > max) return `must have at most ${max} characters`;
  return isValid(value) ? null : reason;
};
const anyText = textCheck(MAX_TEXT, () => true, "");
const typeCheck = (isValid: (value: unknown) => boolean, reason: string) => (value: unknown) => (isValid(value) ? null : reason);

const TYPE_CHECKS: Readonly<Record<FieldType, (value: unknown) => string | null>> = {
  text: anyText,
  text_long: anyText,
  integer: typeCheck(Number.isInteger, "must be an integer"),
  decimal: typeCheck(Number.isFinite, "must be a number"),
  boolean: typeCheck((value) => typeof value === "boolean", "must be a boolean"),
  date: textCheck(MAX_TEXT, (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && toInstant(text) !== null, "must be an ISO date"),
  date_time: textCheck(
    MAX_TEXT,
    (text) => /^\S{10}[Tt ]\S.*\S$/.test(text) && toInstant(text) !== null,
    "must be an ISO datetime",
  ),
  url: textCheck(MAX_URL, isHttpUrl, "must be an http or https URL"),
  json: (value) => {
    if (typeof value !== "object") return "must be a JSON object or array";
    const isSmallEnough = Buffer.byteLength(JSON.stringify(value)) <= MAX_OBJECT_BYTES;
    return isSmallEnough ? null : `must have at most ${MAX_OBJECT_BYTES} bytes`;
  },
};

/**
 * Returns whether the text is an http or https URL. The URL parser alone is not enough, because it corrects bad input instead of
 * refusing it, for example missing slashes and spaces.
 */
function isHttpUrl(text: string): boolean {
  return /^https?:\/\/[^\s/\\]\S*$/i.test(text) && URL.canParse(text);
}

const PATTERN_TYPES: readonly FieldType[] = ["text", "text_long", "date", "date_time", "url"];

/** Checks the pattern of a field, then its default value. Throws `invalid`. Patterns run on RE2, which does not backtrack. */
export async function validateRule(field: FieldRule & { default_value: unknown }, match: PatternMatcher): Promise<void> {
  const { field_type, validation_regex, default_value } = field;
  if (validation_regex !== null && !PATTERN_TYPES.includes(field_type))
    throw new DomainError("invalid", `validation_regex is only supported for ${PATTERN_TYPES.join(", ")} fields.`);
  if (validation_regex !== null) await validatePattern(validation_regex);
  const reason = checkType(field_type, default_value) ?? (await matchPattern(validation_regex, default_value, match));
  if (reason !== null) throw new DomainError("invalid", `default_value ${reason}.`);
}

/** Returns why a value does not match a pattern. Returns null if it matches, if it is not a string, or if there is no pattern. */
export const matchPattern = async (pattern: string | null, value: unknown, match: PatternMatcher): Promise<string | null> =>
  pattern === null || typeof value !== "string" ? null : match(pattern, value);
