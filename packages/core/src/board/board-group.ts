import { eq, getTableColumns } from "drizzle-orm";
import * as z from "zod";
import { recordAudit } from "../audit/record.ts";
import { type BoardGroupRow, groupFor, readableGroups } from "../organization/access.ts";
import type { Admin, Member } from "../context/actor.ts";
import { changedFields, isEmpty } from "../values/changed-fields.ts";
import { type Context, transaction } from "../context/context.ts";
import { actingFor } from "../db/change-actor.ts";
import { withLockTimeoutRetry } from "../db/retry-transaction.ts";
import { mapUniqueViolation } from "../db/query-error.ts";
import { idKey, lowerCaseKey, type SortOrder } from "../lists/keyset.ts";
import { largeText, truncatable } from "../lists/large-fields.ts";
import type { Page, PageQuery } from "../lists/page.ts";
import { TextOrNull, Id, Instant, MAX_NAME, MAX_SLUG, MAX_TEXT, NonEmpty, lazyObject } from "../values/wire.ts";
import { removeGroupMemory } from "../memory/group-memory.ts";
import { board_groups, boards } from "../schema/board.sql.ts";
import { lockBoardGroup } from "./lock.ts";
import { toUpdatedSlug, insertWithSlug, slugConflicts } from "./slug.ts";
import { listOf } from "../lists/list.ts";

export const BoardGroup = lazyObject(() => ({
  id: Id.describe("Id of the group."),
  organization_id: Id.describe("Organization that the group belongs to."),
  name: z.string().describe("Display name."),
  slug: z.string().describe("URL-safe name, unique in the organization."),
  description: z.string().nullable().describe("What the boards of the group have in common."),
  created_at: Instant.describe("When the group was created."),
  updated_at: Instant.describe("When the group last changed."),
  ...truncatable,
})).meta({ id: "BoardGroup", description: "Related boards whose agents coordinate their work." });
export type BoardGroup = z.infer<typeof BoardGroup>;

const Fields = lazyObject(() => ({
  name: NonEmpty(MAX_NAME).describe("Display name."),
  slug: TextOrNull(MAX_SLUG).describe("URL-safe name; made from the name when blank."),
  description: TextOrNull(MAX_TEXT).describe("What the boards of the group have in common."),
}));

export const CreateBoardGroup = lazyObject(() => ({
  ...Fields.shape,
  slug: Fields.shape.slug.default(null),
  description: Fields.shape.description.default(null),
})).meta({ id: "BoardGroupCreate" });
export type CreateBoardGroup = z.infer<typeof CreateBoardGroup>;

export const UpdateBoardGroup = lazyObject(() => Fields.partial().shape).meta({ id: "BoardGroupUpdate" });
export type UpdateBoardGroup = z.infer<typeof UpdateBoardGroup>;

const groupOrder: SortOrder<BoardGroupRow> = [
  lowerCaseKey(board_groups.name, ({ name }) => name),
  idKey(board_groups.id, ({ id }) => id),
];

const groupList = listOf({
  name: "board groups",
  table: board_groups,
  columns: getTableColumns(board_groups),
  large: { description: largeText },
  order: groupOrder,
});

/** Lists the groups that the caller may read, by name. */
export const listBoardGroups = (ctx: Context<Member>, query: PageQuery): Promise<Page<BoardGroup>> =>
  groupList.read(ctx, query, {
    owner: ctx.actor.active.organization_id,
    filters: [readableGroups(ctx.actor)],
    toItem: toBoardGroup,
  });

export async function getBoardGroup(ctx: Context<Member>, group_id: string): Promise<BoardGroup> {
  return toBoardGroup(await groupFor(ctx, group_id, "read"));
}

export async function createBoardGroup(ctx: Context<Admin>, input: CreateBoardGroup): Promise<BoardGroup> {
  const values = { ...input, organization_id: ctx.actor.active.organization_id };
  const row = await insertWithSlug(ctx, "group", values, (slug) =>
    ctx.db
      .insert(board_groups)
      .values({ ...values, slug, organization_id: actingFor(ctx, values.organization_id) })
      .onConflictDoNothing()
      .returning(),
  );
  return toBoardGroup(row);
}

/**
 * Changes the fields that were sent. If only the name changes, the slug stays the same. A blank slug is replaced by one made from
 * the name.
 */
export function updateBoardGroup(ctx: Context<Admin>, group_id: string, input: UpdateBoardGroup): Promise<BoardGroup> {
  return transaction(ctx, async (ctx) => {
    const stored = await lockBoardGroup(ctx, await groupFor(ctx, group_id, "write"));
    const slug = await toUpdatedSlug(ctx, "group", stored, input);
    const changes = changedFields(stored, { ...input, slug });
    if (isEmpty(changes)) return toBoardGroup(stored);
    const [row] = await mapUniqueViolation(slugConflicts, () =>
      ctx.db.update(board_groups).set(changes).where(eq(board_groups.id, stored.id)).returning(),
    );
    return toBoardGroup(row!);
  });
}

/** Removes a group and its memory. Its boards remain, without a group, and no agent is notified. */
export function removeBoardGroup(ctx: Context<Admin>, group_id: string): Promise<void> {
  return withLockTimeoutRetry(ctx, async (ctx) => {
    const { id, name, organization_id } = await lockBoardGroup(ctx, await groupFor(ctx, group_id, "write"));
    // The foreign key would also clear the column, but it would not change `updated_at` of the boards.
    await ctx.db.update(boards).set({ board_group_id: null }).where(eq(boards.board_group_id, id));
    await removeGroupMemory(ctx, id);
    await ctx.db.delete(board_groups).where(eq(board_groups.id, id));
    await recordAudit(ctx, "board_group.removed", { organization_id, target: { id, name }, before: { name } });
  });
}

export function toBoardGroup(row: BoardGroupRow): BoardGroup {
  return { ...row, created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() };
}
