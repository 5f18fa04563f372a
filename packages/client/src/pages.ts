/** A page of a list from the service, with its response headers. */
export interface Page {
  body: { items: unknown[]; offset?: number; next_cursor?: string | null };
  headers: Headers;
}

/** Where the next page begins: after a cursor, or at an offset. */
type Position = { cursor: string } | { offset: number };

/**
 * Yields the items of all pages. It follows cursors, which never miss or repeat a row that exists the whole time, or offsets if a
 * list has no cursors. Lists with their own cursors return them in the body and do not accept an empty cursor.
 */
export async function* readPages(
  read: (query: Record<string, unknown>) => Promise<Page>,
  query: Record<string, unknown>,
  has_own_cursors: boolean,
): AsyncGenerator<unknown> {
  // An empty cursor asks the list for its first page with cursors. A list that has no cursors ignores it.
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

/** Returns the cursor in `<…?cursor=…>; rel="next"`. Only the cursor is used, so that no header can redirect requests. */
function nextCursor(link: string | null): string | null {
  // The service never puts a comma into an address.
  for (const part of (link ?? "").split(",")) {
    const [address = "", relation = ""] = part.trim().replace("<", "").split(">", 2);
    if (/^; ?rel="?next"?/i.test(relation)) return new URL(address, "http://localhost").searchParams.get("cursor");
  }
  return null;
}
