import { isDeepStrictEqual } from "node:util";
import { ellipsize } from "../values/text.ts";

/** The old and the new value of each field; null where the changed object did not exist. */
type AuditChanges = Record<string, [unknown, unknown]>;
type Fields = Readonly<Record<string, unknown>>;

/** Fields whose values are secret. The log records only that they changed. */
const SECRET = /(?:secret|token|password|sealed|digest|hash|lookup|key)s?$/;
const HIDDEN = "(hidden)";
/** Fields that are not recorded: every change changes them, or they only identify the row. */
const LEFT_OUT = /^(?:id|organization_id|created_at|updated_at|change_tx|change_seq|truncated_fields)$/;
/** The suffix says how a secret is stored. It is removed from the recorded field name. */
const STORED_AS = /_(?:sealed|digest|hash|lookup)$/;
const MAX_CHARS = 500;

/**
 * Returns the fields that differ between two states of an object. Pass null as `before` if the object was created, and null as
 * `after` if it was removed.
 */
export function toChanges(before: object | null, after: object | null): AuditChanges {
  const [old, now] = [(before ?? {}) as Fields, (after ?? {}) as Fields];
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])].filter((name) => !LEFT_OUT.test(name));
  const differing = names.filter((name) => !isDeepStrictEqual(toPlain(old[name]), toPlain(now[name])));
  return Object.fromEntries(
    differing.map((name) => [name.replace(STORED_AS, ""), [toShown(name, old[name]), toShown(name, now[name])]]),
  );
}

const toPlain = (value: unknown): unknown => (value === undefined ? null : JSON.parse(JSON.stringify(value)));

function toShown(name: string, value: unknown): unknown {
  const plain = toPlain(value);
  if (plain === null) return null;
  if (SECRET.test(name)) return HIDDEN;
  if (typeof plain === "string") return ellipsize(plain, MAX_CHARS);
  const text = JSON.stringify(plain);
  return text.length > MAX_CHARS ? ellipsize(text, MAX_CHARS) : plain;
}
