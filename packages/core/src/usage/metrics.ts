import * as z from "zod";
import type { Member } from "../context/actor.ts";
import { type Context, readAll } from "../context/context.ts";
import { RangeKey, toTimeline } from "../metrics/range.ts";
import { readScope } from "../metrics/scope.ts";
import { mayReadAll } from "../organization/board-rights.ts";
import { DAY_MS, startOfDay } from "../values/time.ts";
import { Id, Instant, lazyObject, QueryInteger } from "../values/wire.ts";
import { type FigureRow, type Figures, GROUPINGS, readFigures, readTotals, type Window } from "./figures.ts";

const DEFAULT_RANGE: RangeKey = "7d";
const MAX_ROWS = 500;

export const UsageQuery = lazyObject(() => ({
  range: RangeKey.optional().describe(
    `The time before now that the figures cover, in whole UTC days; \`${DEFAULT_RANGE}\` when absent.`,
  ),
  range_key: RangeKey.optional().describe("Another name for `range`. When both are sent, `range` is used."),
  group_by: z.enum(GROUPINGS).default("day").describe("What a row of the answer stands for."),
  board_id: Id.optional().describe("Only this board."),
  group_id: Id.optional().describe("Only the boards of this group."),
  limit: QueryInteger(1, MAX_ROWS)
    .default(100)
    .describe("Maximum number of rows; those with the highest price are returned. Days are not limited."),
}));
export type UsageQuery = z.infer<typeof UsageQuery>;

const count = (text: string) => z.int().nullable().describe(text);

const UsageSums = lazyObject(() => ({
  entries: count("Reported entries."),
  runs: count("Runs that reported usage, counted with their first entry."),
  input_tokens: count("Tokens that models read."),
  output_tokens: count("Tokens that models wrote."),
  cached_input_tokens: count("The part of `input_tokens` that came from caches."),
  reasoning_tokens: count("The part of `output_tokens` that was reasoning."),
  total_tokens: count("Sum of `input_tokens` and `output_tokens`."),
  cost_usd: z.string().nullable().describe("Sum of the reported prices in US dollars; null when none was reported."),
})).meta({ id: "UsageSums", description: "Sums of usage. They are null for an agent that reported nothing." });

const sums = {
  work: UsageSums.describe("Usage for tasks."),
  idle: UsageSums.describe("Usage without a task, such as an agent's look at an empty inbox."),
};

export const UsageMetrics = lazyObject(() => ({
  range: RangeKey.describe("The range of the figures."),
  group_by: z.enum(GROUPINGS).describe("What a row stands for."),
  from: Instant.describe("Start of the UTC day in which the range begins. Entries since then are counted."),
  until: Instant.describe("The end of the range."),
  total: z.object(sums).describe("Sums of all entries, also of those that no row shows."),
  groups: z.int().describe("Number of groups; `rows` has the most expensive of them."),
  rows: z
    .array(
      z.object({
        key: z.string().nullable().describe("The UTC day, the model, or the id of the agent, board or task; null without one."),
        name: z.string().nullable().describe("Name of agent, board or task, also after its removal."),
        reported: z.boolean().describe("Whether anything was reported. An agent that reports nothing has no figures."),
        ...sums,
      }),
    )
    .describe("Sums by group: days from the first to the last, everything else from the highest price down."),
})).meta({ id: "UsageMetrics", description: "What agents reported to have used." });
export type UsageMetrics = z.infer<typeof UsageMetrics>;

/**
 * Returns the usage of the boards in scope. Members who may read all boards also see removed boards and the main agents of
 * gateways.
 */
export async function getUsage(ctx: Context<Member>, query: UsageQuery): Promise<UsageMetrics> {
  const range = query.range ?? query.range_key ?? DEFAULT_RANGE;
  const { group_by } = query;
  const now = ctx.now();
  const from = startOfDay(toTimeline(range, now).start);
  const window = await toWindow(ctx, query, from);
  const limit = group_by === "day" ? MAX_ROWS : query.limit;
  const [total, found] = await readAll(ctx, [() => readTotals(ctx, window), () => readFigures(ctx, window, group_by, limit)]);
  const rows = group_by === "day" ? toDays(found, from, now) : found;
  return {
    range,
    group_by,
    from: from.toISOString(),
    until: now.toISOString(),
    total,
    groups: group_by === "day" ? rows.length : (found[0]?.groups ?? 0),
    rows: rows.map((row) => toRow(row, group_by === "agent")),
  };
}

async function toWindow(ctx: Context<Member>, scope: UsageQuery, from: Date): Promise<Window> {
  const { organization_id } = ctx.actor.active;
  const isWhole = mayReadAll(ctx.actor) && scope.board_id === undefined && scope.group_id === undefined;
  const isFirst = from.getUTCDate() === 1;
  const month = new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + (isFirst ? 0 : 1)));
  return {
    organization_id,
    board_ids: isWhole ? null : (await readScope(ctx, scope)).board_ids,
    from: toDate(from),
    month: toDate(month),
  };
}

const toDate = (time: Date): string => time.toISOString().slice(0, 10);

/** Returns every day of the window, including days without usage. */
function toDays(found: readonly FigureRow[], from: Date, until: Date): FigureRow[] {
  const stored = new Map(found.map((row) => [row.key, row]));
  const days = Math.floor((until.getTime() - from.getTime()) / DAY_MS) + 1;
  return Array.from({ length: days }, (_, index) => {
    const key = toDate(new Date(from.getTime() + index * DAY_MS));
    return stored.get(key) ?? { key, name: null, groups: days, work: NOTHING, idle: NOTHING };
  });
}

const NOTHING: Figures = {
  entries: 0,
  runs: 0,
  input_tokens: 0,
  output_tokens: 0,
  cached_input_tokens: 0,
  reasoning_tokens: 0,
  total_tokens: 0,
  cost_usd: null,
};
const UNKNOWN = Object.fromEntries(Object.keys(NOTHING).map((name) => [name, null])) as Record<keyof Figures, null>;
const NO_ID = "00000000-0000-0000-0000-000000000000";

function toRow({ key, name, work, idle }: FigureRow, isAgent: boolean): UsageMetrics["rows"][number] {
  const reported = work.entries + idle.entries > 0;
  const isUnknown = isAgent && !reported;
  const shown = { key: key === "" || key === NO_ID ? null : key, name, reported };
  return { ...shown, work: isUnknown ? UNKNOWN : work, idle: isUnknown ? UNKNOWN : idle };
}
