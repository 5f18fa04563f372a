import { and, eq, like, ne } from "drizzle-orm";
import type { Context } from "../context.ts";
import { MAX_SLUG, slugify } from "../wire.ts";
import { boards } from "./board.sql.ts";

interface Named {
  /** Absent of a board that is yet to be made. */
  id?: string | undefined;
  organization_id: string;
  name: string;
}

/** A slug made from the name: with `-2`, `-3`, … when another board of the organization has it. */
export async function freeSlug(ctx: Context, { id, organization_id, name }: Named): Promise<string> {
  const base = slugify(name, "board").slice(0, MAX_SLUG).replace(/-$/, "");
  const others = await ctx.db
    .select({ slug: boards.slug })
    .from(boards)
    .where(
      and(
        eq(boards.organization_id, organization_id),
        like(boards.slug, `${base}%`),
        id === undefined ? undefined : ne(boards.id, id),
      ),
    );
  const taken = new Set(others.map((other) => other.slug));
  for (let number = 1; ; number++) {
    const slug = number === 1 ? base : `${base}-${number}`;
    if (!taken.has(slug)) return slug;
  }
}
