import { and, eq, like, ne } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { DomainError } from "../values/errors.ts";
import { MAX_SLUG, slugify } from "../values/wire.ts";
import { board_groups, boards } from "../schema/board.sql.ts";

/** Tables with a slug that is unique in the organization. The key is the fallback slug for a name without a letter or digit. */
const SLUG_TABLES = { board: boards, group: board_groups };
type Kind = keyof typeof SLUG_TABLES;

interface SluggedRow {
  /** Undefined if the row is not inserted yet. */
  id?: string | undefined;
  organization_id: string;
  name: string;
}

const slugTaken: Record<Kind, () => DomainError> = {
  board: () => new DomainError("conflict", "Board slug already exists in this organization."),
  group: () => new DomainError("conflict", "Board group slug already exists in this organization."),
};

/** The unique indexes of slugs with their errors, for `mapUniqueViolation`. */
export const slugConflicts = { boards_slug: slugTaken.board, board_groups_slug: slugTaken.group };

/**
 * Inserts a row with the slug that was sent, or with the first free slug made from its name. `insert` must insert nothing
 * and return no row when the slug is taken.
 */
export async function insertWithSlug<Row>(
  ctx: Context,
  kind: Kind,
  { slug: sent, ...fields }: SluggedRow & { slug: string | null },
  insert: (slug: string) => Promise<Row[]>,
): Promise<Row> {
  for (;;) {
    const slug = sent === null ? await findFreeSlug(ctx, kind, fields) : slugify(sent, kind);
    const [row] = await insert(slug);
    if (row) return row;
    // The slug is taken. If it was sent, the request is refused. Otherwise another request took it after the search, so the
    // next free slug is searched.
    if (sent !== null) throw slugTaken[kind]();
  }
}

/**
 * Returns the new slug of a row: the slug that was sent, or one made from the name if the sent slug is blank. Returns undefined if
 * no slug was sent.
 */
export async function toUpdatedSlug(
  ctx: Context,
  kind: Kind,
  stored: SluggedRow,
  sent: { name?: string | undefined; slug?: string | null | undefined },
): Promise<string | undefined> {
  if (sent.slug === null) return findFreeSlug(ctx, kind, { ...stored, name: sent.name ?? stored.name });
  return sent.slug === undefined ? undefined : slugify(sent.slug, kind);
}

/** Characters to leave free in a slug for a hyphen and a number. */
const NUMBER_CHARS = 10;

/** Makes a slug from the name. If the organization already uses the slug, adds `-2`, `-3` and so on. */
async function findFreeSlug(ctx: Context, kind: Kind, { id, organization_id, name }: SluggedRow): Promise<string> {
  const table = SLUG_TABLES[kind];
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
    const slug = toNumberedSlug(base, number);
    if (!taken.has(slug)) return slug;
  }
}

function toNumberedSlug(base: string, number: number): string {
  const suffix = number === 1 ? "" : `-${number}`;
  return base.slice(0, MAX_SLUG - suffix.length).replace(/-$/, "") + suffix;
}
