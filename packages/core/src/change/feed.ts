import * as z from "zod";
import type { Agent, Member } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { preparedQuery } from "../db/prepared.ts";
import { DomainError } from "../values/errors.ts";
import { ClientId } from "../stream/client-id.ts";
import { BEGINNING, type Cursor, formatEventId, isAfter, parseEventId, toCursor } from "../stream/cursor.ts";
import type { GrantResult } from "../stream/follower.ts";
import { type Horizon, readHorizon } from "../stream/horizon.ts";
import { Id, QueryInteger, lazyObject } from "../values/wire.ts";
import { changes_removed } from "../schema/change.sql.ts";
import { readScopes } from "./scope.ts";
import { Change, ChangeTypes, createChangeSource, toChangeTypes } from "./source.ts";

const MAX_LIMIT = 200;
const DEFAULT_LIMIT = 100;

const Filter = lazyObject(() => ({
  cursor: z
    .string()
    .optional()
    .describe(
      "Only changes after this cursor, which an earlier answer contained. Empty: from the oldest stored change. Absent: from now on.",
    ),
  board_id: Id.optional().describe("Only changes on this board."),
  types: ChangeTypes,
}));

export const ChangesQuery = lazyObject(() => ({
  ...Filter.shape,
  limit: QueryInteger(1, MAX_LIMIT).default(DEFAULT_LIMIT).describe("Maximum number of changes to return."),
}));
export type ChangesQuery = z.infer<typeof ChangesQuery>;

export const ChangesStreamQuery = lazyObject(() => ({ ...Filter.shape, client_id: ClientId }));
export type ChangesStreamQuery = z.infer<typeof ChangesStreamQuery>;

export const Changes = lazyObject(() => ({
  changes: z.array(Change).describe("The changes after the cursor, in the order in which they were committed."),
  cursor: z.string().describe("The cursor for the next request, also when there is no change."),
  has_more: z.boolean().describe("Whether more changes can be read now."),
})).meta({ id: "Changes", description: "A part of the changes feed." });
export type Changes = z.infer<typeof Changes>;

/** Returns the changes after a cursor that the caller may see. Without a cursor, the answer contains only the current cursor. */
export async function listChanges(ctx: Context<Member | Agent>, query: ChangesQuery): Promise<Changes> {
  const types = toChangeTypes(query.types);
  const [scope] = await readScopes(ctx, [ctx.actor], query.board_id);
  if (scope instanceof DomainError) throw scope;
  const { organization_id } = scope!;
  const { horizon, xmax } = await readHorizon(ctx);
  const now = { tx: horizon, seq: 0n };
  if (query.cursor === undefined) return { changes: [], cursor: formatEventId(now, organization_id), has_more: false };
  const after = toPosition(query.cursor, organization_id, xmax);
  const { limit } = query;
  const source = createChangeSource(scope!, types);
  const rows = await source.read(ctx, { after, below: horizon, since: null, limit: limit + 1 });
  // The cursor is checked after reading, because entries could have been removed between an earlier check and the reading.
  await requireKept(ctx, after);
  const shown = rows.slice(0, limit);
  const has_more = rows.length > limit;
  const reached = has_more ? shown.at(-1)!.cursor : isAfter(after, now) ? after : now;
  return { changes: shown.map(({ data }) => data as Change), cursor: formatEventId(reached, organization_id), has_more };
}

/**
 * Returns the position after which a stream starts: `sent`, which is a cursor or the id of an event. Returns null if the client
 * sent nothing. The stream then starts now.
 */
export async function startOfStream(ctx: Context<Member | Agent>, sent: string | undefined): Promise<Cursor | null> {
  if (sent === undefined) return null;
  const { xmax } = await readHorizon(ctx);
  const after = toPosition(sent, organizationOf(ctx), xmax);
  await requireKept(ctx, after);
  return after;
}

/** Returns a source of the changes that each caller may see now. Callers who may see the same changes share a source. */
export async function followChanges(
  ctx: Context,
  callers: readonly (Member | Agent)[],
  query: Pick<ChangesStreamQuery, "board_id" | "types">,
): Promise<GrantResult[]> {
  const types = toChangeTypes(query.types);
  const scopes = await readScopes(ctx, callers, query.board_id);
  return scopes.map((scope) => (scope instanceof DomainError ? scope : createChangeSource(scope, types)));
}

const organizationOf = ({ actor }: Context<Member | Agent>) =>
  actor.type === "agent" ? actor.organization_id : actor.active.organization_id;

/**
 * Parses a cursor. Throws `invalid` for a cursor of another organization, and for a cursor after all transactions of this database,
 * which must come from another database.
 */
function toPosition(sent: string, organization_id: string, xmax: Horizon["xmax"]): Cursor {
  if (sent === "") return BEGINNING;
  const parsed = parseEventId(sent);
  if (!parsed || parsed.organization_id !== organization_id || isAfter(parsed.cursor, { tx: xmax, seq: 0n }))
    throw new DomainError("invalid", "Unknown cursor: read the lists again, and start without a cursor.");
  return parsed.cursor;
}

async function requireKept(ctx: Context, after: Cursor): Promise<void> {
  if (!isAfter(after, BEGINNING)) return;
  const [removed] = await selectRemoved(ctx.db).execute({});
  if (removed && isAfter(toCursor(removed.tx, removed.seq), after))
    throw new DomainError(
      "gone",
      "Changes after this cursor are no longer kept: read the lists again, and start without a cursor.",
    );
}

const selectRemoved = preparedQuery((db) =>
  db.select({ tx: changes_removed.tx, seq: changes_removed.seq }).from(changes_removed),
);
