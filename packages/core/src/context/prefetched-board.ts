import type { boards } from "../schema/board.sql.ts";
import type { Db } from "./db.ts";

/** A person's rights to a board, as they are stored. */
export interface StoredRights {
  all_read: boolean | null;
  all_write: boolean | null;
  can_read: boolean | null;
  can_write: boolean | null;
}

/** A board and a person's rights to it. `rights` is null for agents, because their access follows from their board or gateway. */
export interface FoundBoard {
  board: typeof boards.$inferSelect | null;
  rights: StoredRights | null;
}

/**
 * The board that the path of a request names. The statement that authenticates the caller also reads the board, so that `boardFor`
 * needs no statement for it.
 */
export interface PrefetchedBoard {
  readonly id: string;
  /** The organization of the board; null until the authentication has found the board. */
  organization_id: string | null;
  found: (FoundBoard & { caller_id: string; db: Db; read_at: number }) | null;
}

/** The fields of a context that the functions of this file need. */
interface Holder {
  db: Db;
  prefetched_board?: PrefetchedBoard;
}

/**
 * How long a prefetched board may be used, in milliseconds. The body of a request may arrive long after its headers, and rights may
 * be removed in the meantime.
 */
const FRESH_MS = 100;

export const createPrefetchedBoard = (id: string): PrefetchedBoard => ({ id, organization_id: null, found: null });

export function storePrefetchedBoard({ db, prefetched_board }: Holder, caller_id: string, found: FoundBoard): void {
  if (!prefetched_board) return;
  prefetched_board.found = { ...found, caller_id, db, read_at: performance.now() };
  prefetched_board.organization_id = found.board?.organization_id ?? null;
}

/** Allows the transaction around a whole request to use the board that the authentication read before the transaction began. */
export function passPrefetchedBoard({ db, prefetched_board }: Holder, transaction: Db): void {
  if (prefetched_board?.found?.db === db) prefetched_board.found = { ...prefetched_board.found, db: transaction };
}

/**
 * Returns the board that the authentication of this caller has just read, else null. It returns the board only once, so later
 * access checks read the board again. It returns null in a transaction that began after the authentication, so that the
 * transaction reads the board itself.
 */
export function takePrefetchedBoard({ db, prefetched_board }: Holder, caller_id: string, board_id: string): FoundBoard | null {
  const found = prefetched_board?.found;
  if (!found || prefetched_board.id !== board_id || found.caller_id !== caller_id || found.db !== db) return null;
  prefetched_board.found = null;
  return performance.now() - found.read_at < FRESH_MS ? found : null;
}
