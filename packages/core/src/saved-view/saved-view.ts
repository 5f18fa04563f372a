import { and, eq, sql } from "drizzle-orm";
import * as z from "zod";
import type { User } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { boardFor } from "../organization/access.ts";
import { saved_views } from "../schema/saved-view.sql.ts";
import { Id, Instant, lazyObject, MAX_NAME, NonEmpty, valueError } from "../values/wire.ts";

const MAX_VIEWS = 50;
const MAX_QUERY = 1_000;

const viewFields = () => ({
  name: NonEmpty(MAX_NAME).describe("What the person calls the view. No two views of a board have the same name."),
  query: z
    .string()
    .max(MAX_QUERY)
    .describe("Filters, order and layout, in the form of the query string of the console's address."),
});
const SavedView = lazyObject(viewFields).meta({ id: "SavedView", description: "A view of a board under a name." });

export const SavedViews = lazyObject(() => ({
  board_id: Id.describe("Id of the board."),
  views: z.array(SavedView).describe("The views of the caller, in the order in which they were sent."),
  updated_at: Instant.nullable().describe("When the caller last changed them; null if the caller never did."),
})).meta({ id: "SavedViews", description: "How a person likes to look at a board." });
export type SavedViews = z.infer<typeof SavedViews>;

export const SetSavedViews = lazyObject(() => ({
  views: z
    .array(z.object(viewFields()))
    .max(MAX_VIEWS)
    .refine(
      (views) => new Set(views.map(({ name }) => name)).size === views.length,
      valueError("views must have different names"),
    )
    .describe("The views. They replace the earlier ones."),
})).meta({ id: "SavedViewsUpdate" });
export type SetSavedViews = z.infer<typeof SetSavedViews>;

/** Returns the views of a board that the calling person has saved. */
export async function getSavedViews(ctx: Context<User>, board_id: string): Promise<SavedViews> {
  const { id } = await boardFor(ctx, board_id, "read");
  const [row] = await ctx.db
    .select()
    .from(saved_views)
    .where(and(eq(saved_views.board_id, id), eq(saved_views.user_id, ctx.actor.user_id)));
  return { board_id: id, views: row?.views ?? [], updated_at: row?.updated_at.toISOString() ?? null };
}

/** Replaces the saved views of the calling person. Saving a view needs no right to write to the board. */
export async function setSavedViews(ctx: Context<User>, board_id: string, { views }: SetSavedViews): Promise<SavedViews> {
  const { id, organization_id } = await boardFor(ctx, board_id, "read");
  const updated_at = ctx.now();
  await ctx.db
    .insert(saved_views)
    .values({ board_id: id, organization_id, user_id: ctx.actor.user_id, views, updated_at })
    .onConflictDoUpdate({
      target: [saved_views.board_id, saved_views.user_id],
      set: { views: sql`excluded.views`, updated_at: sql`excluded.updated_at` },
    });
  return { board_id: id, views, updated_at: updated_at.toISOString() };
}
