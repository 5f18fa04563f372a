import { sql } from "drizzle-orm";
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

const createPage = <T extends z.ZodType>(item: T) =>
  z
    .object({
      items: z.array(item).describe("The items of this page, in the list's order."),
      total: z.int().describe("How many items there are in all."),
      limit: z.int().describe("The limit in force."),
      offset: z.int().describe("The offset in force."),
    })
    .meta({ id: `${item.meta()?.id}Page`, description: "A page of a list." });

const pages = new WeakMap<z.ZodType, unknown>();

/** The envelope of a list: the values in force and the true total, also past the end. One schema per item, since it has a name. */
export function pageOf<T extends z.ZodType>(item: T): ReturnType<typeof createPage<T>> {
  const page = (pages.get(item) as ReturnType<typeof createPage<T>> | undefined) ?? createPage(item);
  pages.set(item, page);
  return page;
}

/** A row of a page, and beside it how many rows the whole list has. */
interface Counted<Row> {
  item: Row;
  total: number;
}

/**
 * Reads one page and the true total in one statement: `rows` selects `total` beside each item, which PostgreSQL counts once
 * for all of them. Only past the end there is no row that could tell it.
 */
export async function readPage<Row, T>(
  query: PageQuery,
  total: PromiseLike<number>,
  rows: (limit: number, offset: number) => PromiseLike<Counted<Row>[]>,
  toItem: (row: Row) => T,
): Promise<Page<T>> {
  const { limit, offset } = query;
  const found = await rows(limit, offset);
  const [first] = found;
  const count = first?.total ?? (offset === 0 ? 0 : await total);
  return { items: found.map(({ item }) => toItem(item)), total: count, limit, offset };
}

/**
 * The same where counting is work of its own: it is done only when the page does not tell the total, as one does that is
 * not full and ends the list.
 */
export async function readPageAndCount<Row, T>(
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

/**
 * A limit that stands in the statement itself. As a parameter it is unknown to the plan that is kept for a statement, which
 * then seems dearer than a new one each time: of a page with much in each row the planning is a third of the cost.
 */
export const inPlan = (limit: number): number => sql.raw(String(limit)) as unknown as number;
