import { sql } from "drizzle-orm";
import { boardFor, boardsOfAgent, readVisibleBoards, type VisibleBoards } from "../organization/access.ts";
import type { Agent, Member } from "../context/actor.ts";
import { boards } from "../schema/board.sql.ts";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { type DomainError, notFound, requireDomainError } from "../values/errors.ts";
import { changes } from "../schema/change.sql.ts";
import { conditionOf } from "../lists/filter.ts";
import { isAdminBeyondBoards, mayReadAll } from "../organization/board-rights.ts";

/** The boards whose changes a caller may see. */
export interface ChangeScope {
  organization_id: string;
  /** Includes removed boards, so that the caller is informed of their removal. */
  boards: VisibleBoards;
  /** Whether to include changes of main agents, which belong to no board. */
  without_board: boolean;
}

/**
 * Returns what each caller may see now, in the order of the callers. With `board_id`, the result contains only that board, or an
 * error if the caller may not see it. Any number of members takes at most two statements.
 */
export async function readScopes(
  ctx: Context,
  callers: readonly (Member | Agent)[],
  board_id?: string,
): Promise<(ChangeScope | DomainError)[]> {
  const members = callers.filter((caller) => caller.type === "user");
  const visible = await readVisibleBoards(ctx, members, board_id);
  const visibleTo = new Map<Member | Agent, VisibleBoards>(members.map((member, index) => [member, visible[index]!]));
  const removed = await readRemovedBoards(ctx, callers, visibleTo, board_id);
  const scopes: (ChangeScope | DomainError)[] = [];
  for (const [index, caller] of callers.entries()) {
    const gone = removed.get(index) ?? [];
    scopes.push(
      caller.type === "agent"
        ? await scopeOfAgent(ctx, caller, gone, board_id).catch(requireDomainError)
        : scopeOfMember(caller, visibleTo.get(caller)!, gone, board_id),
    );
  }
  return scopes;
}

function scopeOfMember(actor: Member, visible: VisibleBoards, gone: readonly string[], board_id?: string) {
  const { organization_id } = actor.active;
  const allowed = visible === "all" ? visible : merge(visible, gone);
  if (board_id !== undefined && allowed.length === 0) return notFound();
  return { organization_id, boards: allowed, without_board: board_id === undefined && isAdminBeyondBoards(actor) };
}

async function scopeOfAgent(ctx: Context, actor: Agent, gone: readonly string[], board_id?: string): Promise<ChangeScope> {
  const { organization_id } = actor;
  const own = actor.board_id === null ? await readBoardIds(ctx, actor) : [actor.board_id];
  const all = merge(own, gone);
  if (board_id === undefined) return { organization_id, boards: all, without_board: false };
  // Throws if the agent may not read this board.
  if (!all.includes(board_id)) await boardFor({ ...ctx, actor }, board_id, "read");
  return { organization_id, boards: [board_id], without_board: false };
}

const merge = (ids: readonly string[], others: readonly string[]) => [...new Set([...ids, ...others])].toSorted();

async function readBoardIds(ctx: Context, actor: Agent): Promise<string[]> {
  const rows = await ctx.db
    .select({ id: boards.id })
    .from(boards)
    .where(conditionOf(boardsOfAgent(actor)));
  return rows.map(({ id }) => id);
}

/** Finds the removed boards that each caller was allowed to read, by the index of the caller. */
async function readRemovedBoards(
  ctx: Context,
  callers: readonly (Member | Agent)[],
  visibleTo: ReadonlyMap<Member | Agent, VisibleBoards>,
  board_id?: string,
): Promise<Map<number, string[]>> {
  const asking = callers.flatMap((caller, index) => {
    if (visibleTo.get(caller) === "all" || (caller.type === "agent" && caller.board_id !== null)) return [];
    return [{ index, ...toReader(caller) }];
  });
  if (asking.length === 0) return new Map();
  const column = (name: "index" | "organization_id" | "reader_id" | "reads_all") => sql.param(asking.map((row) => row[name]));
  const result = await ctx.db.execute(sql`
    select caller.index, array_agg(gone.id) as board_ids
    from unnest(${column("index")}::int[], ${column("organization_id")}::uuid[], ${column("reader_id")}::uuid[],
      ${column("reads_all")}::boolean[]) as caller(index, organization_id, reader_id, reads_all)
    join ${changes} as gone on gone.organization_id = caller.organization_id and gone.type = 'board' and gone.action = 'removed'
    where (caller.reads_all or caller.reader_id = any(gone.readers)) ${board_id ? sql`and gone.id = ${board_id}` : sql``}
    group by caller.index`);
  return new Map(rowsOf<{ index: number; board_ids: string[] }>(result).map(({ index, board_ids }) => [index, board_ids]));
}

/**
 * Returns how to find the caller among the readers that the entry of a removed board lists. Members are listed by the id of their
 * membership, and main agents by the id of their gateway.
 */
const toReader = (caller: Member | Agent) =>
  caller.type === "agent"
    ? { organization_id: caller.organization_id, reader_id: caller.gateway_id, reads_all: false }
    : {
        organization_id: caller.active.organization_id,
        reader_id: caller.active.member_id,
        reads_all: mayReadAll(caller),
      };
