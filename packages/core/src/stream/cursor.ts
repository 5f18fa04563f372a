/** A place in commit order: all rows up to it, itself included, are behind. See `commitOrder` in db/columns.ts. */
export interface Cursor {
  readonly tx: bigint;
  readonly seq: bigint;
}

/** Before every row. */
export const BEGINNING: Cursor = { tx: 0n, seq: 0n };

const MAX_TX = 2n ** 64n - 1n;
const MAX_SEQ = 2n ** 63n - 1n;

export const isBeyond = (place: Cursor, other: Cursor): boolean =>
  place.tx > other.tx || (place.tx === other.tx && place.seq > other.seq);

/** The cursor of a row: drivers hand transaction ids over as text. */
export const cursorOf = (tx: string, seq: bigint): Cursor => ({ tx: BigInt(tx), seq });

export const formatCursor = ({ tx, seq }: Cursor): string => Buffer.from(`${tx}.${seq}`).toString("base64url");

/** Null for what is no cursor of ours: a stream then starts as if none had been sent. */
export function parseCursor(text: string): Cursor | null {
  const match = /^(\d{1,20})\.(\d{1,19})$/.exec(Buffer.from(text, "base64url").toString("latin1"));
  if (!match) return null;
  const cursor = { tx: BigInt(match[1]!), seq: BigInt(match[2]!) };
  return cursor.tx <= MAX_TX && cursor.seq <= MAX_SEQ ? cursor : null;
}
