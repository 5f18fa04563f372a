import { BodyStorageError } from "../context/body-storage.ts";
import { forEachConcurrent } from "../values/concurrency.ts";
import type { Context } from "../context/context.ts";

/** The columns that say where a body is stored. */
interface BodyRow {
  id: string;
  body: Uint8Array | null;
  body_key: string | null;
  body_bytes: number | null;
}

/** How many objects one list request reads at the same time. */
const MAX_CONCURRENT = 8;

/** Reads the body of a payload, from the database or from the body storage. Throws a BodyStorageError if it cannot be read. */
export async function readBody(ctx: Context, row: BodyRow): Promise<Uint8Array> {
  const body = row.body ?? (await fetchBody(ctx, row));
  if (!body) throw new BodyStorageError(`The body of payload ${row.id} is not in the body storage`);
  return body;
}

interface ListedRow extends BodyRow {
  is_truncated: boolean;
}

/**
 * Adds the bodies to the rows of a list, or the first `preview_bytes` of a truncated body. A body that the storage has lost
 * becomes an empty preview, so that the other rows can still be listed.
 */
export async function readListedBodies<Row extends ListedRow>(
  ctx: Context,
  rows: readonly Row[],
  preview_bytes: number,
): Promise<(Row & { body: Uint8Array })[]> {
  const found = new Map<string, Uint8Array | null>();
  let failed = false;
  const moved = rows.filter(({ body }) => body === null);
  await forEachConcurrent(moved, { max_concurrent: MAX_CONCURRENT, shouldStop: () => failed }, async (row) => {
    try {
      found.set(row.id, await fetchBody(ctx, row, row.is_truncated ? preview_bytes : undefined));
    } catch (error) {
      failed = true;
      throw error;
    }
  });
  return rows.map((row) => {
    const body = row.body ?? found.get(row.id);
    return body ? { ...row, body } : { ...row, body: new Uint8Array(), is_truncated: true };
  });
}

/** Reads a body from the storage. Returns null if there is no such object or its length is wrong. */
async function fetchBody(ctx: Context, row: BodyRow, max_bytes?: number): Promise<Uint8Array | null> {
  if (!ctx.bodies) throw new BodyStorageError("Bodies have moved to a body storage, but WEBHOOK_BODY_STORAGE is not set");
  const body = await ctx.bodies.get(row.body_key!, max_bytes);
  if (body?.byteLength === Math.min(row.body_bytes!, max_bytes ?? Number.POSITIVE_INFINITY)) return body;
  ctx.log.error("webhook.body_lost", "The body storage lost the body of a payload", {
    payload_id: row.id,
    expected_bytes: row.body_bytes,
    found_bytes: body?.byteLength ?? null,
  });
  return null;
}
