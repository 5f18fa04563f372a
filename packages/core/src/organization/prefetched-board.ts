import type { StoredRights } from "./board-rights.ts";
import type { boards } from "../schema/board.sql.ts";
import type { Context, Db } from "../context/context.ts";

/** The board with the rights to it of a person; agents have none that are stored. */
export interface FoundBoard {
  board: typeof boards.$inferSelect | null;
  rights: StoredRights | null;
}

/** The board that the path of a request names. The statement of the sign-in reads it too, for the check of access that follows. */
export interface PathBoard {
  readonly id: string;
  found: (FoundBoard & { caller_id: string; db: Db; read_at: number }) | null;
}

/** Milliseconds. The body of a request may arrive much later than its head, and rights may be taken away meanwhile. */
const FRESH_MS = 100;

export const createPathBoard = (id: string): PathBoard => ({ id, found: null });

export function notePathBoard({ db, path_board }: Context, caller_id: string, found: FoundBoard): void {
  if (path_board) path_board.found = { ...found, caller_id, db, read_at: performance.now() };
}

/** Lets the transaction of a whole request use what its sign-in has read, as the request would without a transaction. */
export function keepPathBoard({ db, path_board }: Context, transaction: Db): void {
  if (path_board?.found?.db === db) path_board.found = { ...path_board.found, db: transaction };
}

/**
 * What the sign-in of this caller has just read about the board. Only the first check uses it; later ones read again, as do
 * transactions that were begun since, whose statements belong together.
 */
export function takePathBoard({ db, path_board }: Context, caller_id: string, board_id: string): FoundBoard | null {
  const found = path_board?.found;
  if (!found || path_board.id !== board_id || found.caller_id !== caller_id || found.db !== db) return null;
  path_board.found = null;
  return performance.now() - found.read_at < FRESH_MS ? found : null;
}
