/** A position in commit order, after the row that has it. See `commitOrder` in db/columns.ts. */
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

/** The cursor of a row. Drivers return transaction ids as text. */
export const toCursor = (tx: string, seq: bigint): Cursor => ({ tx: BigInt(tx), seq });

export const formatCursor = ({ tx, seq }: Cursor): string => Buffer.from(`${tx}.${seq}`).toString("base64url");

/** Returns null for text that is not a valid cursor; a stream then starts as if no cursor had been sent. */
export function parseCursor(text: string): Cursor | null {
  const match = /^(\d{1,20})\.(\d{1,19})$/.exec(Buffer.from(text, "base64url").toString("latin1"));
  if (!match) return null;
  const cursor = { tx: BigInt(match[1]!), seq: BigInt(match[2]!) };
  return cursor.tx <= MAX_TX && cursor.seq <= MAX_SEQ ? cursor : null;
}
