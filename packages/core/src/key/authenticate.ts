import { and, eq, getTableColumns, gt, isNull, lt, or, sql } from "drizzle-orm";
import type { Member } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import type { Db } from "../context/db.ts";
import { storePrefetchedBoard } from "../context/prefetched-board.ts";
import { tokenLookup } from "../agent/token.ts";
import { preparedQuery } from "../db/prepared.ts";
import { startOfMinute } from "../db/rate-limit.ts";
import { storedRights } from "../organization/board-rights.ts";
import { membershipColumns } from "../organization/user.ts";
import { organization_board_access } from "../schema/board-access.sql.ts";
import { boards } from "../schema/board.sql.ts";
import { api_key_tokens, api_keys } from "../schema/key.sql.ts";
import { organization_members, users } from "../schema/organization.sql.ts";
import { isWellFormedKey } from "./token.ts";

/** Finds the service user of the key and records that the key was used. Returns null if the key is not valid. */
export async function findUserByKey(ctx: Context, token: string): Promise<Member | null> {
  const row = await findRow(ctx, token, ctx.prefetched_board?.id ?? null);
  if (!row) return null;
  const { key, board, active, ...rights } = row;
  storePrefetchedBoard(ctx, key.id, { board, rights });
  await recordUse(ctx, key);
  return toActor(row);
}

/**
 * Works like `findUserByKey` for a program that has sent a token that was issued for the key. Returns the service user of the key.
 */
export async function findUserByKeyId(ctx: Context, key_id: string): Promise<Member | null> {
  const [row] = await keyById(ctx.db).execute({ key_id, board_id: null, now: ctx.now().toISOString() });
  if (!row) return null;
  await recordUse(ctx, row.key);
  return toActor(row);
}

/** Finds the service user of the key, to check an open connection again. Such a check does not count as a use of the key. */
export async function recheckKey(ctx: Context, token: string): Promise<Member | null> {
  const row = await findRow(ctx, token, null);
  return row && toActor(row);
}

/** Looks up the digest of the key in an index. This is one look-up, so its duration does not reveal whether the key exists. */
async function findRow(ctx: Context, token: string, board_id: string | null) {
  if (!isWellFormedKey(token)) return null;
  const lookup = tokenLookup(ctx.settings.token_pepper, token);
  const [row] = await keyLookup(ctx.db).execute({ lookup, board_id, now: ctx.now().toISOString() });
  return row ?? null;
}

type Row = NonNullable<Awaited<ReturnType<typeof findRow>>>;

const isNotOver = (end: typeof api_keys.expires_at | typeof api_key_tokens.ends_at) =>
  or(isNull(end), gt(end, sql`${sql.placeholder("now")}::timestamptz`));

const selectKeys = (db: Db) =>
  db
    .select({
      key: {
        id: api_keys.id,
        access: api_keys.access,
        is_for_all_boards: sql<boolean>`${api_keys.board_ids} is null`,
        last_used_at: api_keys.last_used_at,
        name: users.name,
      },
      active: membershipColumns,
      board: getTableColumns(boards),
      ...storedRights(organization_members),
    })
    .from(api_keys)
    .innerJoin(users, eq(users.id, api_keys.id))
    .innerJoin(
      organization_members,
      and(eq(organization_members.user_id, api_keys.id), eq(organization_members.organization_id, api_keys.organization_id)),
    )
    .leftJoin(
      boards,
      and(eq(boards.id, sql`${sql.placeholder("board_id")}::uuid`), eq(boards.organization_id, api_keys.organization_id)),
    )
    .leftJoin(
      organization_board_access,
      and(
        eq(organization_board_access.organization_member_id, organization_members.id),
        eq(organization_board_access.board_id, boards.id),
      ),
    );

const keyLookup = preparedQuery((db) =>
  selectKeys(db)
    .innerJoin(api_key_tokens, eq(api_key_tokens.key_id, api_keys.id))
    .where(
      and(
        eq(api_key_tokens.token_lookup, sql.placeholder("lookup")),
        isNotOver(api_key_tokens.ends_at),
        isNotOver(api_keys.expires_at),
      ),
    ),
);

const keyById = preparedQuery((db) =>
  selectKeys(db).where(and(eq(api_keys.id, sql.placeholder("key_id")), isNotOver(api_keys.expires_at))),
);

const toActor = ({ key: { id, access, is_for_all_boards, name }, active }: Row): Member => ({
  type: "user",
  user_id: id,
  display_name: name ?? "Key",
  active,
  key: { access, is_for_all_boards },
});

/** Stores when a key was last used, to the minute. So only one of the requests within a minute writes. */
async function recordUse(ctx: Context, { id, last_used_at }: { id: string; last_used_at: Date | null }): Promise<void> {
  const minute = startOfMinute(ctx.now());
  if (last_used_at !== null && last_used_at >= minute) return;
  await ctx.db
    .update(api_keys)
    .set({ last_used_at: minute, updated_at: sql`${api_keys.updated_at}` })
    .where(and(eq(api_keys.id, id), or(isNull(api_keys.last_used_at), lt(api_keys.last_used_at, minute))));
}
