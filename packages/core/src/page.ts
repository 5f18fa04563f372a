import * as z from "zod";
import { MAX_INTEGER, QueryInteger } from "./wire.ts";

export interface PageQuery {
  limit: number;
  offset: number;
}

/** `limit` and `offset` of a list. */
export const pageQuery = (defaultLimit = 50, maxLimit = 200) =>
  z.object({
    limit: QueryInteger(1, maxLimit).default(defaultLimit).describe("How many items at the most."),
    offset: QueryInteger(0, MAX_INTEGER).default(0).describe("How many items to skip."),
  });

export interface Page<T> {
  items: T[];
  total: number;
  limit: number;
  offset: number;
}

/** The envelope of a list: the values in force and the true total, also past the end. */
export const pageOf = <T extends z.ZodType>(item: T) =>
  z.object({
    items: z.array(item).describe("The items of this page, in the list's order."),
    total: z.int().describe("How many items there are in all."),
    limit: z.int().describe("The limit in force."),
    offset: z.int().describe("The offset in force."),
  });

/**
 * Reads one page. The count runs only when the page itself does not tell the total: a page that is not full ends the
 * list, so most lists cost one statement.
 */
export async function readPage<Row, T>(
  query: PageQuery,
  rows: (limit: number, offset: number) => Promise<Row[]>,
  count: () => Promise<number>,
  toItem: (row: Row) => T,
): Promise<Page<T>> {
  const { limit, offset } = query;
  const found = await rows(limit, offset);
  const ends = found.length < limit && (found.length > 0 || offset === 0);
  const total = ends ? offset + found.length : await count();
  return { items: found.map(toItem), total, limit, offset };
}
