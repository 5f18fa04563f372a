/** A page of a list as the service sends it, with the headers of its answer. */
export interface Page {
  body: { items: unknown[]; offset?: number; next_cursor?: string | null };
  headers: Headers;
}

/** Where the next page begins: after a cursor, or at an offset. */
type Position = { cursor: string } | { offset: number };

/**
 * Yields the items of all pages. Follows cursors, which neither miss nor repeat a row that is there throughout, and offsets
 * where a list has no cursors. A list with cursors of its own names them in its answers, and takes no empty one.
 */
export async function* readPages(
  read: (query: Record<string, unknown>) => Promise<Page>,
  query: Record<string, unknown>,
  has_own_cursors: boolean,
): AsyncGenerator<unknown> {
  // A list that does not know cursors ignores the empty one.
  const isPositioned = has_own_cursors || ["cursor", "offset", "page"].some((name) => name in query);
  const start = isPositioned ? {} : { cursor: "" };
  let position: Position | null = null;
  do {
    const page = await read({ ...query, ...(position ?? start) });
    yield* page.body.items;
    position = nextPosition(page);
  } while (position !== null);
}

function nextPosition({ body, headers }: Page): Position | null {
  const { items, offset, next_cursor } = body;
  if (next_cursor !== undefined) return next_cursor === null ? null : { cursor: next_cursor };
  const cursor = nextCursor(headers.get("Link"));
  if (cursor !== null) return { cursor };
  const total = (body as { total?: number }).total ?? 0;
  const end = (offset ?? 0) + items.length;
  return items.length > 0 && end < total ? { offset: end } : null;
}

/** The cursor in `<…?cursor=…>; rel="next"`. Only the cursor is used, so that no header can direct requests elsewhere. */
function nextCursor(link: string | null): string | null {
  // The service writes no comma into an address.
  for (const part of (link ?? "").split(",")) {
    const [address = "", relation = ""] = part.trim().replace("<", "").split(">", 2);
    if (/^; ?rel="?next"?/i.test(relation)) return new URL(address, "http://localhost").searchParams.get("cursor");
  }
  return null;
}
