import { hash } from "node:crypto";
import { and, asc, eq, getTableColumns, inArray, isNotNull, isNull, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import type { Context } from "../context/context.ts";
import { DomainError } from "../values/errors.ts";
import { preparedQuery } from "../db/prepared.ts";
import { inlineLimit } from "../db/stable-plan.ts";
import { formatEventId, toCursor } from "../stream/cursor.ts";
import { type ReadWindow, type Source, windowCondition, windowOrder } from "../stream/source.ts";
import { Id, Instant, lazyObject } from "../values/wire.ts";
import { CHANGE_ACTIONS, CHANGE_ACTORS, CHANGE_TYPES, changes } from "../schema/change.sql.ts";
import type { ChangeScope } from "./scope.ts";

export type ChangeType = (typeof CHANGE_TYPES)[number];

export const Change = lazyObject(() => ({
  cursor: z.string().describe("Position after this entry, from which a feed or a stream continues."),
  type: z.enum(CHANGE_TYPES).describe("What has changed. `memory` is an entry of a board's memory."),
  action: z.enum(CHANGE_ACTIONS).describe("How it has changed."),
  id: Id.describe("Id of what has changed."),
  board_id: Id.nullable().describe("Its board; null for main agents, and for budgets of organizations and agents."),
  task_id: Id.nullable().describe("The task of a comment, the first task of an approval, or the task itself; else null."),
  at: Instant.describe("When it changed."),
  actor: z
    .object({
      type: z.enum(CHANGE_ACTORS).describe("`system` for the work of the service itself."),
      id: Id.nullable().describe("Id of the user or agent; null for the service."),
    })
    .describe("Who changed it."),
})).meta({ id: "Change", description: "An entry of the changes feed: read the item to learn what it is like now." });
export type Change = z.infer<typeof Change>;

export const ChangeTypes = z
  .string()
  .optional()
  .describe(`Only changes of these types, separated by commas: ${CHANGE_TYPES.join(", ")}. All when absent.`);

/** Parses a list of types. Null means all types. Throws `invalid` for an unknown type. */
export function toChangeTypes(list: string | undefined): readonly ChangeType[] | null {
  if (!list?.trim()) return null;
  const sent = list.split(",", CHANGE_TYPES.length * 10).map((part) => z.enum(CHANGE_TYPES).safeParse(part.trim()));
  if (sent.some(({ success }) => !success))
    throw new DomainError("invalid", `Types of changes are ${CHANGE_TYPES.join(", ")}, separated by commas.`);
  return CHANGE_TYPES.filter((type) => sent.some(({ data }) => data === type));
}

/** Creates the source of the changes of a scope in commit order, for the feed and for streams. */
export function createChangeSource(scope: ChangeScope, types: readonly ChangeType[] | null): Source {
  const { organization_id, boards, without_board } = scope;
  const digest = boards === "all" ? boards : hash("sha256", boards.join(), "base64url");
  return {
    key: `changes ${organization_id} ${digest} ${without_board} ${types?.join() ?? "all"}`,
    organization_id,
    event: "change",
    async read(ctx, window) {
      const rows = await readRows(ctx, scope, types, window);
      return rows.map((row) => {
        const cursor = toCursor(row.tx, row.seq);
        return { id: `${row.tx}.${row.seq}`, cursor, data: toChange(row, formatEventId(cursor, organization_id)) };
      });
    },
  };
}

const order = { tx: changes.tx, seq: changes.seq, at: changes.at };
type Row = Omit<typeof changes.$inferSelect, "readers">;

const { readers: _readers, ...columns } = getTableColumns(changes);

/**
 * The limits that are written into the SQL: the batch of a stream, and one entry more than the default page and the longest page of
 * the feed.
 */
const INLINED_LIMITS = [100, 101, 201];

/**
 * Selects the entries of a whole organization after a cursor. It is prepared, because clients that mirror an organization poll it
 * all the time.
 */
const selectAfter = preparedQuery((db, without_board: boolean, ofTypes: boolean, limit: number) => {
  const value = (name: string) => sql.placeholder(name);
  const types = ofTypes ? sql`${changes.type} = any(${value("types")}::text[])` : undefined;
  const isAfter = sql`(${changes.tx}, ${changes.seq}) > (${value("tx")}::xid8, ${value("seq")}::bigint)`;
  return db
    .select(columns)
    .from(changes)
    .where(
      and(
        eq(changes.organization_id, value("organization_id")),
        isAfter,
        sql`${changes.tx} < ${value("below")}::xid8`,
        types,
        without_board ? undefined : isNotNull(changes.board_id),
      ),
    )
    .orderBy(asc(changes.tx), asc(changes.seq))
    .limit(limit === 0 ? value("limit") : inlineLimit(limit));
});

function readRows(ctx: Context, scope: ChangeScope, types: readonly ChangeType[] | null, window: ReadWindow): Promise<Row[]> {
  const { organization_id, boards, without_board } = scope;
  if (boards === "all" && window.since === null) {
    const { after, below, limit } = window;
    const statement = selectAfter(ctx.db, without_board, types !== null, INLINED_LIMITS.includes(limit) ? limit : 0);
    return statement.execute({ organization_id, tx: `${after.tx}`, seq: `${after.seq}`, below: `${below}`, types, limit });
  }
  const isWanted = and(
    eq(changes.organization_id, organization_id),
    types === null ? undefined : inArray(changes.type, [...types]),
    windowCondition(window, order),
  );
  if (boards === "all")
    return ctx.db
      .select(columns)
      .from(changes)
      .where(and(isWanted, without_board ? undefined : isNotNull(changes.board_id)))
      .orderBy(...windowOrder(window, order))
      .limit(window.limit);
  // Takes the next entries of each board from an index. A single scan would also read the entries of other boards.
  const next = (condition: SQL) => sql`select tx, seq, id, action, at from ${changes} where ${and(isWanted, condition)}
    order by ${sql.join(windowOrder(window, order), sql`, `)} limit ${window.limit}`;
  const visible = sql`select next.* from unnest(${sql.param([...boards])}::uuid[]) as board(id)
    cross join lateral (${next(sql`${changes.board_id} = board.id`)}) as next
    ${without_board ? sql`union all (${next(isNull(changes.board_id))})` : sql``}`;
  return ctx.db
    .select(columns)
    .from(changes)
    .where(
      sql`(${changes.tx}, ${changes.id}, ${changes.action}) in (
        select tx, id, action from (${visible}) as next order by tx, seq limit ${window.limit})`,
    )
    .orderBy(asc(changes.tx), asc(changes.seq))
    .limit(window.limit);
}

function toChange({ type, action, id, board_id, task_id, at, actor_type, actor_id }: Row, cursor: string): Change {
  return { cursor, type, action, id, board_id, task_id, at: at.toISOString(), actor: { type: actor_type, id: actor_id } };
}
