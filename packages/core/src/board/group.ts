import { asc, eq, sql } from "drizzle-orm";
import * as z from "zod";
import { type BoardGroupRow, groupFor, readableGroups } from "../access.ts";
import type { Admin, Member } from "../actor.ts";
import { changesOf, isEmpty } from "../change.ts";
import { type Context, transaction } from "../context.ts";
import { mapConflict } from "../db/conflict.ts";
import { type Page, type PageQuery, readPage } from "../page.ts";
import { Blankable, Id, Instant, MAX_NAME, MAX_SLUG, MAX_TEXT, NonEmpty } from "../wire.ts";
import { board_groups, boards } from "./board.sql.ts";
import { lockGroup } from "./lock.ts";
import { changedSlug, insertSlugged, slugConflicts } from "./slug.ts";

export const BoardGroup = z
  .object({
    id: Id.describe("Id of the group."),
    organization_id: Id.describe("Organization that the group belongs to."),
    name: z.string().describe("Name people read."),
    slug: z.string().describe("URL-safe name, unique in the organization."),
    description: z.string().nullable().describe("What the boards of the group have in common."),
    created_at: Instant.describe("When the group was made."),
    updated_at: Instant.describe("When the group last changed."),
  })
  .meta({ id: "BoardGroup", description: "Related boards, whose agents coordinate." });
export type BoardGroup = z.infer<typeof BoardGroup>;

const fields = {
  name: NonEmpty(MAX_NAME).describe("Name people read."),
  slug: Blankable(MAX_SLUG).describe("Made from the name when blank."),
  description: Blankable(MAX_TEXT).describe("What the boards of the group have in common."),
};

export const CreateBoardGroup = z
  .object({ ...fields, slug: fields.slug.default(null), description: fields.description.default(null) })
  .meta({ id: "BoardGroupCreate" });
export type CreateBoardGroup = z.infer<typeof CreateBoardGroup>;

export const UpdateBoardGroup = z.object(fields).partial().meta({ id: "BoardGroupUpdate" });
export type UpdateBoardGroup = z.infer<typeof UpdateBoardGroup>;

/** The groups the caller may read, by name. */
export function listBoardGroups(ctx: Context<Member>, query: PageQuery): Promise<Page<BoardGroup>> {
  const readable = readableGroups(ctx.actor);
  const total = ctx.db.$count(board_groups, readable);
  return readPage(
    query,
    total,
    (limit, offset) =>
      ctx.db
        .select({ item: board_groups, total })
        .from(board_groups)
        .where(readable)
        .orderBy(asc(sql`lower(${board_groups.name})`), asc(board_groups.id))
        .limit(limit)
        .offset(offset),
    toBoardGroup,
  );
}

export async function getBoardGroup(ctx: Context<Member>, group_id: string): Promise<BoardGroup> {
  return toBoardGroup(await groupFor(ctx, group_id, "read"));
}

export async function createBoardGroup(ctx: Context<Admin>, input: CreateBoardGroup): Promise<BoardGroup> {
  const values = { ...input, organization_id: ctx.actor.active.organization_id };
  const row = await insertSlugged(ctx, "group", values, (slug) =>
    ctx.db
      .insert(board_groups)
      .values({ ...values, slug })
      .onConflictDoNothing()
      .returning(),
  );
  return toBoardGroup(row);
}

/** Changes what was sent. Renaming alone keeps the slug, a blank one is made anew. */
export function updateBoardGroup(ctx: Context<Admin>, group_id: string, input: UpdateBoardGroup): Promise<BoardGroup> {
  return transaction(ctx, async (ctx) => {
    const stored = await lockGroup(ctx, await groupFor(ctx, group_id, "write"));
    const slug = await changedSlug(ctx, "group", stored, input);
    const changes = changesOf(stored, { ...input, slug });
    if (isEmpty(changes)) return toBoardGroup(stored);
    const [row] = await mapConflict(slugConflicts, () =>
      ctx.db.update(board_groups).set(changes).where(eq(board_groups.id, stored.id)).returning(),
    );
    return toBoardGroup(row!);
  });
}

/** Removes a group with its memory. Its boards stay, without a group; nobody is told. */
export function removeBoardGroup(ctx: Context<Admin>, group_id: string): Promise<void> {
  return transaction(ctx, async (ctx) => {
    const { id } = await lockGroup(ctx, await groupFor(ctx, group_id, "write"));
    // Not left to the foreign key: leaving a group is a change of the board, which `updated_at` must show.
    await ctx.db.update(boards).set({ board_group_id: null }).where(eq(boards.board_group_id, id));
    await ctx.db.delete(board_groups).where(eq(board_groups.id, id));
  });
}

export function toBoardGroup(row: BoardGroupRow): BoardGroup {
  return { ...row, created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() };
}
