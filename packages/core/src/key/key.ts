import { and, eq, getTableColumns, isNull, type SQL } from "drizzle-orm";
import * as z from "zod";
import type { Admin, Member } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { type Filter, filterBy } from "../lists/filter.ts";
import { newestFirst } from "../lists/keyset.ts";
import { listOf } from "../lists/list.ts";
import type { Page, PageQuery } from "../lists/page.ts";
import { KEY_ACCESS, api_keys } from "../schema/key.sql.ts";
import { users } from "../schema/organization.sql.ts";
import { notFound } from "../values/errors.ts";
import { Id, Instant, lazyObject } from "../values/wire.ts";

export const KeyAccess = z.enum(KEY_ACCESS);

export const Key = lazyObject(() => ({
  id: Id.describe("Id of the key. Events and comments have it as the id of the user who acted."),
  organization_id: Id.describe("Organization in which the key acts."),
  name: z.string().describe("What the key is for. Events and comments show it as the author's name."),
  access: KeyAccess.describe("`read` only reads, `write` acts as a member, `admin` as an admin."),
  board_ids: z.array(Id).nullable().describe("The boards that the key is limited to; null for all."),
  personal: z.boolean().describe("Whether the key belongs to a person and has no more than this person's rights."),
  prefix: z.string().describe("The beginning of the key."),
  created_by_user_id: Id.nullable().describe("Who created the key; null if this user was removed."),
  last_used_at: Instant.nullable().describe("The minute of the last use; null if it was never used."),
  expires_at: Instant.nullable().describe("When the key ends; null if it does not."),
  created_at: Instant.describe("When the key was created."),
  updated_at: Instant.describe("When the key was last rotated."),
})).meta({ id: "Key", description: "A credential of a program." });
export type Key = z.infer<typeof Key>;

export const NewKey = lazyObject(() => ({
  ...Key.shape,
  key: z
    .string()
    .nullable()
    .describe("The key itself. It is not shown again; null in the repeated answer to a request with Idempotency-Key."),
})).meta({ id: "NewKey", description: "A key with its new secret." });
export type NewKey = z.infer<typeof NewKey>;

const keyColumns = { ...getTableColumns(api_keys), name: users.name };
type Row = typeof api_keys.$inferSelect & { name: string | null };

const keyList = listOf({
  name: "keys",
  table: api_keys,
  joins: [{ table: users, on: eq(users.id, api_keys.id) }],
  columns: keyColumns,
  order: newestFirst(api_keys),
});

/** Lists the keys that act in the active organization, including personal keys, newest first. */
export const listKeys = (ctx: Context<Admin>, query: PageQuery): Promise<Page<Key>> => readKeys(ctx, query, []);

/** Lists the caller's personal keys in the active organization, newest first. */
export const listOwnKeys = (ctx: Context<Member>, query: PageQuery): Promise<Page<Key>> =>
  readKeys(ctx, query, [filterBy("owner_member_id", ctx.actor.active.member_id, (id) => eq(api_keys.owner_member_id, id))]);

function readKeys(ctx: Context<Member>, query: PageQuery, filters: Filter[]): Promise<Page<Key>> {
  const { organization_id } = ctx.actor.active;
  const ofOrganization = filterBy("organization_id", organization_id, (id) => eq(api_keys.organization_id, id));
  return keyList.read(ctx, query, { owner: organization_id, filters: [ofOrganization, ...filters], toItem: toKey });
}

/**
 * Which keys the caller may read or change by id: the organization's keys, any key in the organization, or the caller's personal
 * keys.
 */
export type KeyOwner = "organization" | "any" | "caller";

/** Returns a condition on `api_keys`: whether the key has this id and is one of the keys that `owner` stands for. */
export function keyCondition({ actor }: Context<Member>, key_id: string, owner: KeyOwner): SQL {
  const { organization_id, member_id } = actor.active;
  const isOwned =
    owner === "caller"
      ? eq(api_keys.owner_member_id, member_id)
      : owner === "organization"
        ? isNull(api_keys.owner_member_id)
        : undefined;
  return and(eq(api_keys.id, key_id), eq(api_keys.organization_id, organization_id), isOwned)!;
}

/** Returns a key of the organization or of one of its members. */
export const getKey = (ctx: Context<Admin>, key_id: string): Promise<Key> => readKey(ctx, key_id, "any");

export async function readKey(ctx: Context<Member>, key_id: string, owner: KeyOwner): Promise<Key> {
  const [row] = await ctx.db
    .select(keyColumns)
    .from(api_keys)
    .innerJoin(users, eq(users.id, api_keys.id))
    .where(keyCondition(ctx, key_id, owner));
  if (!row) throw notFound();
  return toKey(row);
}

export function toKey(row: Row): Key {
  const { owner_member_id, warned_days: _warned_days, name, last_used_at, expires_at, created_at, updated_at, ...shown } = row;
  return {
    ...shown,
    name: name ?? "",
    personal: owner_member_id !== null,
    last_used_at: last_used_at?.toISOString() ?? null,
    expires_at: expires_at?.toISOString() ?? null,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  };
}
