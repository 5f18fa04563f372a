import type { FieldProblem } from "@board/core/values/errors";
import { NOT_AN_INTEGER } from "@board/core/values/wire";
import type * as z from "zod";

type Issue = z.core.$ZodIssue;
type InputSource = "body" | "query" | "path";

/** The maximum number of reported problems. A body of a megabyte can have half a million problems. */
const MAX_PROBLEMS = 1_000;
const MAX_INPUT_CHARS = 200;
const SECRET_FIELD = /token|secret/i;

/** Converts Zod's issues to the problems of a 422 response, in field order (docs/reference/conventions.md#field-problems). */
export function toProblems(
  issues: readonly Issue[],
  where: InputSource,
  input: unknown,
  fields: readonly string[] = [],
): FieldProblem[] {
  return inFieldOrder(issues, fields)
    .slice(0, MAX_PROBLEMS)
    .flatMap((issue) => issuesOfIntendedBranch(issue, input).slice(0, MAX_PROBLEMS))
    .slice(0, MAX_PROBLEMS)
    .map((issue) => {
      const path = pathOf(issue);
      const value = valueAt(input, path);
      const { type, msg } = toTypeAndMessage(issue, value, path.length === 0);
      return { type, loc: [where, ...path], msg, input: toReportedInput(value, path) };
    });
}

/** Sorts problems by field. Problems of the whole object come last. */
function inFieldOrder(issues: readonly Issue[], fields: readonly string[]): readonly Issue[] {
  if (fields.length === 0 || issues.length < 2) return issues;
  const place = new Map(fields.map((name, index) => [name, index]));
  const placeOf = ({ path }: Issue) => place.get(String(path[0])) ?? fields.length;
  return issues.toSorted((one, other) => placeOf(one) - placeOf(other));
}

const MAX_KEY_CHARS = 200;

/** Returns the problems of keys that an operation does not know, for clients that want such keys to be refused. */
export const toUnknownKeyProblems = (
  paths: Iterable<readonly (string | number)[]>,
  where: InputSource,
  input: unknown,
): FieldProblem[] =>
  Iterator.from(paths)
    .take(MAX_PROBLEMS)
    .map((path) => ({
      type: "extra_forbidden",
      loc: [where, ...path.map((part) => (typeof part === "string" ? part.slice(0, MAX_KEY_CHARS) : part))],
      msg: "Extra inputs are not permitted",
      input: toReportedInput(valueAt(input, path), path),
    }))
    .toArray();

const pathOf = (issue: Issue) => issue.path.map((part) => (typeof part === "symbol" ? String(part) : part));

const TYPE_KINDS: Readonly<Record<string, { type: string; kind: string }>> = {
  string: { type: "string_type", kind: "string" },
  boolean: { type: "bool_type", kind: "boolean" },
  int: { type: "int_type", kind: "integer" },
  number: { type: "float_type", kind: "number" },
  array: { type: "list_type", kind: "array" },
  object: { type: "dict_type", kind: "object" },
  record: { type: "dict_type", kind: "object" },
};

/** Returns the issues of the branch of a union that the client meant: the first whose literal keys are present, else the last. */
function issuesOfIntendedBranch(issue: Issue, input: unknown): readonly Issue[] {
  if (issue.code !== "invalid_union" || issue.errors.length === 0) return [issue];
  const branches = issue.errors.map((branch) => branch.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] })));
  const lacksLiteral = (inner: Issue) =>
    inner.code === "invalid_value" && inner.values.length === 1 && valueAt(input, pathOf(inner)) === undefined;
  return branches.find((branch) => !branch.some(lacksLiteral)) ?? branches.at(-1)!;
}

function toTypeAndMessage(issue: Issue, value: unknown, atRoot: boolean): { type: string; msg: string } {
  if (value === undefined && issue.code !== "custom") return { type: "missing", msg: "Field required" };
  if (issue.message.startsWith("Value error, ")) return { type: "value_error", msg: issue.message };
  switch (issue.code) {
    case "invalid_type": {
      if (atRoot && issue.expected === "object")
        return { type: "model_attributes_type", msg: "Input should be a valid dictionary or object to extract fields from" };
      const expected = issue.message === NOT_AN_INTEGER ? "int" : issue.expected;
      const { type, kind } = TYPE_KINDS[expected] ?? { type: "value_error", kind: expected };
      return { type, msg: `Input should be a valid ${kind}` };
    }
    case "too_small": {
      if (issue.origin === "string")
        return { type: "string_too_short", msg: `String should have at least ${plural(issue.minimum, "character")}` };
      if (issue.origin === "array")
        return { type: "too_short", msg: `List should have at least ${plural(issue.minimum, "item")}` };
      return { type: "greater_than_equal", msg: `Input should be greater than or equal to ${issue.minimum}` };
    }
    case "too_big": {
      if (issue.origin === "string")
        return { type: "string_too_long", msg: `String should have at most ${plural(issue.maximum, "character")}` };
      if (issue.origin === "array") return { type: "too_long", msg: `List should have at most ${plural(issue.maximum, "item")}` };
      return { type: "less_than_equal", msg: `Input should be less than or equal to ${issue.maximum}` };
    }
    case "invalid_format":
      if (issue.format === "guid" || issue.format === "uuid")
        return { type: "uuid_parsing", msg: "Input should be a valid UUID" };
      if (issue.format === "datetime") return { type: "datetime_parsing", msg: "Input should be a valid datetime" };
      return { type: "value_error", msg: `Value error, ${issue.message}` };
    case "invalid_value": {
      if ("expected" in issue && issue.expected === "stringbool")
        return { type: "bool_type", msg: "Input should be a valid boolean" };
      return literalError(issue.values);
    }
    // The value of the discriminator does not belong to any branch of the union.
    case "invalid_union":
      return literalError("options" in issue ? (issue.options as unknown[]) : []);
    default:
      return { type: "value_error", msg: `Value error, ${issue.message}` };
  }
}

const literalError = (values: readonly unknown[]) => ({
  type: "literal_error",
  msg: `Input should be ${joinWithOr(values.map((allowed) => `'${String(allowed)}'`))}`,
});

const plural = (count: number | bigint, word: string) => `${count} ${word}${Number(count) === 1 ? "" : "s"}`;

const joinWithOr = (values: string[]) =>
  values.length < 2 ? values.join("") : `${values.slice(0, -1).join(", ")} or ${values.at(-1)}`;

function valueAt(input: unknown, path: readonly (string | number)[]): unknown {
  let value = input;
  for (const key of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string | number, unknown>)[key];
  }
  return value;
}

/** Prepares an invalid value for the response: secrets are masked, long text is truncated, objects and arrays are summarized. */
function toReportedInput(value: unknown, path: readonly (string | number)[]): unknown {
  if (path.some((part) => SECRET_FIELD.test(String(part)))) return "***";
  if (typeof value === "string") return value.slice(0, MAX_INPUT_CHARS).toWellFormed().replaceAll("\0", "\uFFFD");
  if (typeof value !== "object" || value === null) return value ?? null;
  return Array.isArray(value) ? `array of ${value.length}` : `object with ${Object.keys(value).length} keys`;
}
