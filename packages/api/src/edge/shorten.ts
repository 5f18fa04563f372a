import { RawJson, toJson } from "@board/core/values/json";
import { snippet } from "@board/core/values/text";
import * as z from "zod";

/** A field with a value that can be shortened, in a copy of its object. */
interface Field {
  owner: Record<string, unknown>;
  name: string;
  bytes: number;
}

/** A list of objects that can end early. It belongs to an object, or is the answer itself. */
interface List {
  owner: Record<string, unknown> | null;
  name: string;
  items: unknown[];
}

interface Parts {
  fields: Field[];
  lists: List[];
}

/** Fields are not shortened below this size. Ids, times, numbers and names are smaller anyway. */
const MIN_FIELD_BYTES = 256;
/** A text is cut slightly shorter than the average size of its characters requires, so that it rarely has to be cut twice. */
const CUT_FACTOR = 0.98;
/** The bytes that `truncated_fields` adds to an object, apart from further names: brackets, quotes and one name. */
const SIGN_BYTES = 24;
const NAME_BYTES = 4;

/**
 * Returns a copy of a value that has at most `max_bytes` as JSON. Only objects whose schema has `truncated_fields` change: first
 * the largest fields are shortened, then lists end early. The items of a page are all kept, because a client could not tell which
 * ones are missing.
 */
export function shorten(schema: z.ZodType, value: unknown, max_bytes: number): unknown {
  const parts: Parts = { fields: [], lists: [] };
  const copy = copyParts(schema, value, parts, true);
  if (Array.isArray(copy)) parts.lists.push({ owner: null, name: "", items: copy });
  shortenFields(parts.fields, sizeOf(copy), max_bytes);
  shortenLists(parts.lists, sizeOf(copy), max_bytes);
  return copy;
}

/** Returns the size of a value as JSON, in bytes. Arrays are measured item by item, because their whole text may be huge. */
function sizeOf(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + sizeOf(item) + 1, 2);
  if (typeof value !== "object" || value === null || value instanceof RawJson) return Buffer.byteLength(toJson(value) ?? "");
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return members.reduce((sum, [name, member]) => sum + Buffer.byteLength(JSON.stringify(name)) + sizeOf(member) + 2, 2);
}

/** Copies the objects that can be shortened. Collects their fields, and the lists that are not inside another list. */
function copyParts(schema: z.ZodType, value: unknown, parts: Parts, isOutermost: boolean): unknown {
  const inner = unwrap(schema, value);
  if (inner instanceof z.ZodArray && Array.isArray(value))
    return value.map((item) => copyParts(inner.element as z.ZodType, item, parts, false));
  if (!(inner instanceof z.ZodObject) || typeof value !== "object" || value === null) return value;
  const shape = inner.shape as Record<string, z.ZodType | undefined>;
  const canChange = "truncated_fields" in shape;
  const owner: Record<string, unknown> = { ...value };
  for (const [name, member] of Object.entries(value)) {
    const field = shape[name] && unwrap(shape[name], member);
    if (field && hasTruncatable(field)) {
      const copy = (owner[name] = copyParts(field, member, parts, isOutermost));
      if (canChange && isOutermost && Array.isArray(copy)) parts.lists.push({ owner, name, items: copy });
    } else if (canChange && name !== "truncated_fields" && isShortenable(field, member)) {
      const bytes = sizeOf(member);
      if (bytes > MIN_FIELD_BYTES) parts.fields.push({ owner, name, bytes });
    }
  }
  return owner;
}

/**
 * Returns the schema without wrappers, for a value that is present. For a union, returns the first object schema whose required
 * fields the value has.
 */
function unwrap(schema: z.ZodType, value: unknown): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return unwrap(schema.unwrap() as z.ZodType, value);
  if (!(schema instanceof z.ZodUnion)) return schema;
  const options = schema.options as z.ZodType[];
  return options.find((option) => option instanceof z.ZodObject && hasRequiredFields(option, value)) ?? schema;
}

const hasRequiredFields = ({ shape }: z.ZodObject, value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  Object.entries(shape).every(([name, field]) => field instanceof z.ZodOptional || name in value);

const truncatable = new WeakMap<z.ZodType, boolean>();

/** Returns whether values of the schema have objects that can be shortened. */
function hasTruncatable(schema: z.ZodType): boolean {
  const known = truncatable.get(schema);
  if (known !== undefined) return known;
  const inner = unwrap(schema, undefined);
  const found =
    inner instanceof z.ZodArray
      ? hasTruncatable(inner.element as z.ZodType)
      : inner instanceof z.ZodObject && ("truncated_fields" in inner.shape || Object.values(inner.shape).some(hasTruncatable));
  truncatable.set(schema, found);
  return found;
}

/** Returns whether a value can be shortened. Strings, arrays and free-form objects can, but objects with fixed fields cannot. */
const isShortenable = (schema: z.ZodType | undefined, value: unknown): boolean =>
  typeof value === "string" || (typeof value === "object" && value !== null && !(schema instanceof z.ZodObject));

/** Shortens every field that is larger than a limit. The limit is the largest one that makes the answer small enough. */
function shortenFields(fields: readonly Field[], bytes: number, max_bytes: number): void {
  const saving = ({ bytes, name }: Field, limit: number) => Math.max(0, bytes - limit - SIGN_BYTES - NAME_BYTES - name.length);
  const savedWith = (limit: number) => fields.reduce((sum, field) => sum + saving(field, limit), 0);
  let limit = MIN_FIELD_BYTES;
  for (let step = max_bytes; step >= 1; step = Math.floor(step / 2))
    if (bytes - savedWith(limit + step) <= max_bytes) limit += step;
  for (const field of fields) {
    if (saving(field, limit) === 0) continue;
    const { owner, name } = field;
    owner[name] = beginningOf(owner[name], limit);
    addTruncatedField(owner, name);
  }
}

function addTruncatedField(owner: Record<string, unknown>, name: string): void {
  const names = (owner["truncated_fields"] as string[] | undefined) ?? [];
  if (!names.includes(name)) owner["truncated_fields"] = [...names, name];
}

/** Returns the beginning of a string, or the first items or entries, with at most `max_bytes` as JSON. */
function beginningOf(value: unknown, max_bytes: number): unknown {
  if (value instanceof RawJson) return beginningOfText(value.text, max_bytes);
  if (typeof value === "string") return beginningOfText(value, max_bytes);
  let left = max_bytes - 2;
  const fits = (part: string) => (left -= Buffer.byteLength(part) + 1) >= 0;
  if (Array.isArray(value))
    return value.slice(
      0,
      countWhile(value, (item) => fits(toJson(item))),
    );
  const entries = Object.entries(value as object);
  return Object.fromEntries(
    entries.slice(
      0,
      countWhile(entries, ([key, item]) => fits(`${JSON.stringify(key)}:${toJson(item)}`)),
    ),
  );
}

function countWhile<T>(items: readonly T[], test: (item: T) => boolean): number {
  const end = items.findIndex((item) => !test(item));
  return end === -1 ? items.length : end;
}

function beginningOfText(text: string, max_bytes: number): string {
  let chars = max_bytes;
  for (;;) {
    const part = snippet(text, chars);
    const bytes = sizeOf(part);
    if (bytes <= max_bytes || chars === 0) return part;
    chars = Math.floor((chars * max_bytes * CUT_FACTOR) / bytes);
  }
}

/** Ends the largest list early, then the next largest and so on, until the answer is small enough. */
function shortenLists(lists: readonly List[], bytes: number, max_bytes: number): void {
  const measured = lists
    .map((list) => ({ ...list, sizes: list.items.map((item) => sizeOf(item) + 1) }))
    .map((list) => ({ ...list, bytes: list.sizes.reduce((sum, size) => sum + size, 0) }))
    .toSorted((a, b) => b.bytes - a.bytes);
  let excess = bytes - max_bytes;
  for (const { owner, name, items, sizes } of measured) {
    if (excess <= 0) return;
    if (owner) {
      addTruncatedField(owner, name);
      excess += SIGN_BYTES + NAME_BYTES + name.length;
    }
    while (excess > 0 && items.length > 0) {
      items.pop();
      excess -= sizes[items.length]!;
    }
  }
}
