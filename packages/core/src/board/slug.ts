import { and, eq, like, ne } from "drizzle-orm";
import type { Context } from "../context.ts";
import { DomainError } from "../errors.ts";
import { MAX_SLUG, slugify } from "../wire.ts";
import { board_groups, boards } from "./board.sql.ts";

/** What has a slug that is unique in its organization. The name is also the slug of what has no letter or digit in its name. */
const slugged = { board: boards, group: board_groups };
type Kind = keyof typeof slugged;

interface Named {
  /** Absent of what is yet to be made. */
  id?: string | undefined;
  organization_id: string;
  name: string;
}

const slugTaken: Record<Kind, () => DomainError> = {
  board: () => new DomainError("conflict", "Board slug already exists in this organization."),
  group: () => new DomainError("conflict", "Board group slug already exists in this organization."),
};

/** For `mapConflict`: the unique indexes of slugs. */
export const slugConflicts = { boards_slug: slugTaken.board, board_groups_slug: slugTaken.group };

/**
 * Inserts a row under the slug that was given, or under the first free one made from its name. `insert` does nothing, and
 * returns nothing, when the slug is taken.
 */
export async function insertSlugged<Row>(
  ctx: Context,
  kind: Kind,
  { slug: given, ...named }: Named & { slug: string | null },
  insert: (slug: string) => Promise<Row[]>,
): Promise<Row> {
  for (;;) {
    const slug = given === null ? await freeSlug(ctx, kind, named) : slugify(given, kind);
    const [row] = await insert(slug);
    if (row) return row;
    // A made one was free a moment ago: another request took it, so look again.
    if (given !== null) throw slugTaken[kind]();
  }
}

/** The slug that a change leads to: what was sent, made from the name when that is blank, undefined when nothing was sent. */
export async function changedSlug(
  ctx: Context,
  kind: Kind,
  stored: Named,
  sent: { name?: string | undefined; slug?: string | null | undefined },
): Promise<string | undefined> {
  if (sent.slug === null) return freeSlug(ctx, kind, { ...stored, name: sent.name ?? stored.name });
  return sent.slug === undefined ? undefined : slugify(sent.slug, kind);
}

/** A number and its hyphen take no more than this of a slug. */
const NUMBER_CHARS = 10;

/** A slug made from the name: with `-2`, `-3`, … when another of the organization has it. */
async function freeSlug(ctx: Context, kind: Kind, { id, organization_id, name }: Named): Promise<string> {
  const table = slugged[kind];
  const base = slugify(name, kind);
  const others = await ctx.db
    .select({ slug: table.slug })
    .from(table)
    .where(
      and(
        eq(table.organization_id, organization_id),
        like(table.slug, `${base.slice(0, MAX_SLUG - NUMBER_CHARS)}%`),
        id === undefined ? undefined : ne(table.id, id),
      ),
    );
  const taken = new Set(others.map((other) => other.slug));
  for (let number = 1; ; number++) {
    const slug = numbered(base, number);
    if (!taken.has(slug)) return slug;
  }
}

function numbered(base: string, number: number): string {
  const suffix = number === 1 ? "" : `-${number}`;
  return base.slice(0, MAX_SLUG - suffix.length).replace(/-$/, "") + suffix;
}
