/** The position right after a row, in commit order. See `commitOrder` in schema/columns.ts. */
export interface Cursor {
  readonly tx: bigint;
  readonly seq: bigint;
}

/** The position before all rows. */
export const BEGINNING: Cursor = { tx: 0n, seq: 0n };

const MAX_TX = 2n ** 64n - 1n;
const MAX_SEQ = 2n ** 63n - 1n;

export const isAfter = (cursor: Cursor, other: Cursor): boolean =>
  cursor.tx > other.tx || (cursor.tx === other.tx && cursor.seq > other.seq);

/** Returns the cursor of a row. Drivers return transaction ids as text. */
export const toCursor = (tx: string, seq: bigint): Cursor => ({ tx: BigInt(tx), seq });

/**
 * Formats an event id. In a stream of the active organization, the id contains the organization, so that a client that resumes
 * stays with that organization even if a different one is active by then.
 */
export const formatEventId = ({ tx, seq }: Cursor, organization_id: string | null = null): string =>
  Buffer.from(`${tx}.${seq}${organization_id === null ? "" : `.${organization_id}`}`).toString("base64url");

const EVENT_ID = /^(\d{1,20})\.(\d{1,19})(?:\.([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}))?$/;
const MAX_EVENT_ID_CHARS = 200;

/** Parses an event id. Returns null for any other text. The stream then starts as if no id had been sent. */
export function parseEventId(text: string): { cursor: Cursor; organization_id: string | null } | null {
  if (text.length > MAX_EVENT_ID_CHARS) return null;
  const match = EVENT_ID.exec(Buffer.from(text, "base64url").toString("latin1"));
  if (!match) return null;
  const cursor = { tx: BigInt(match[1]!), seq: BigInt(match[2]!) };
  return cursor.tx <= MAX_TX && cursor.seq <= MAX_SEQ ? { cursor, organization_id: match[3] ?? null } : null;
}
