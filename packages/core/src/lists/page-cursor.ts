import { createHmac, type KeyObject, timingSafeEqual } from "node:crypto";
import { DomainError } from "../values/errors.ts";

/** The list that a cursor belongs to. The signature covers all of these fields, so that a cursor of another list is refused. */
export interface CursorScope {
  list: string;
  owner: string;
  filters: object;
}

const MAC_BYTES = 16;
/**
 * The maximum length of a cursor in characters. Even the longest position, which has an e-mail address and a name, needs less.
 */
export const MAX_CURSOR = 4_000;

const foreignCursor = () =>
  new DomainError(
    "invalid",
    "cursor is not from this list with these filters and this order: start again with an empty cursor, or follow the Link header of the last answer.",
  );

/** Formats a position in a list as the signed cursor that clients see. */
export function formatPageCursor(key: KeyObject, scope: CursorScope, position: readonly string[]): string {
  const text = JSON.stringify(position);
  return Buffer.concat([macOf(key, scope, text), Buffer.from(text)]).toString("base64url");
}

/** Returns the position of a cursor. Throws `invalid` unless `formatPageCursor` made the cursor for the same list. */
export function parsePageCursor(key: KeyObject, scope: CursorScope, cursor: string): string[] {
  const bytes = Buffer.from(cursor, "base64url");
  const text = bytes.subarray(MAC_BYTES).toString("utf8");
  const isOwn = bytes.length > MAC_BYTES && timingSafeEqual(bytes.subarray(0, MAC_BYTES), macOf(key, scope, text));
  if (!isOwn) throw foreignCursor();
  return JSON.parse(text) as string[];
}

function macOf(key: KeyObject, { list, owner, filters }: CursorScope, text: string): Buffer {
  const sent = Object.entries(filters).filter(([, value]) => value !== undefined);
  const sorted = sent.toSorted(([a], [b]) => (a < b ? -1 : 1));
  const signed = JSON.stringify(["page cursor", list, owner, sorted, text]);
  return createHmac("sha256", key).update(signed).digest().subarray(0, MAC_BYTES);
}
