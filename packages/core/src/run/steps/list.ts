import { and, asc, desc, eq, getTableColumns, gte, lt, sql } from "drizzle-orm";
import * as z from "zod";
import { type CallerContext, type Context } from "../../context/context.ts";
import { boardFor } from "../../organization/access.ts";
import { run_steps } from "../../schema/run.sql.ts";
import { lazyObject, QueryInteger } from "../../values/wire.ts";
import { readRun } from "../run.ts";
import { readStepBody } from "./body.ts";
import { unpack } from "./pack.ts";
import { MAX_STEPS, Step, STEP_KINDS } from "./step.ts";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;
/** How many batches one statement reads. A batch may have a megabyte. */
const BATCHES = 10;
/** The maximum number of batches to read for one answer. It is reached only if few steps are of the requested kind. */
const MAX_BATCHES = 100;

export const StepQuery = lazyObject(() => ({
  limit: QueryInteger(1, MAX_LIMIT).default(DEFAULT_LIMIT).describe("Maximum number of steps to return."),
  cursor: z
    .string()
    .regex(/^\d{0,9}$/)
    .optional()
    .describe("`next_cursor` of the previous page; empty or absent for the first one."),
  kind: z.enum(STEP_KINDS).optional().describe("Only steps of this kind."),
  order: z.enum(["asc", "desc"]).default("asc").describe("Oldest or newest first."),
}));
export type StepQuery = z.infer<typeof StepQuery>;

export const StepPage = lazyObject(() => ({
  items: z.array(Step).describe("The steps, in the order of the query."),
  limit: z.int().describe("The limit that was applied."),
  next_cursor: z.string().nullable().describe("Cursor of the next page, which may have no items; null after the last one."),
})).meta({ id: "RunStepPage", description: "A page of steps. It ends early when it would be too large." });
export type StepPage = z.infer<typeof StepPage>;

/** Lists the steps of a run of a board. */
export async function listSteps(ctx: CallerContext, board_id: string, run_id: string, query: StepQuery): Promise<StepPage> {
  const board = await boardFor(ctx, board_id, "read");
  const run = await readRun(ctx, board.id, run_id);
  const isAscending = query.order === "asc";
  const items: Step[] = [];
  let bytes = 0;
  let position = query.cursor ? Number(query.cursor) : isAscending ? 0 : run.steps;
  for (let read = 0; read < MAX_BATCHES; read += BATCHES) {
    const batches = await readBatches(ctx, run_id, position, isAscending);
    for (const { first, body } of batches) {
      const steps = await unpack(body, first);
      for (const step of isAscending ? steps : steps.toReversed()) {
        if (isAscending ? step.n < position : step.n >= position) continue;
        const isWanted = query.kind === undefined || step.kind === query.kind;
        const size = isWanted ? Buffer.byteLength(JSON.stringify(step)) : 0;
        const isFull = items.length === query.limit || (items.length > 0 && bytes + size > ctx.settings.budgets.answer_max_bytes);
        if (isWanted && isFull) return { items, limit: query.limit, next_cursor: String(position) };
        if (isWanted) items.push(step);
        bytes += size;
        position = isAscending ? step.n + 1 : step.n;
      }
    }
    if (batches.length < BATCHES) return { items, limit: query.limit, next_cursor: null };
  }
  return { items, limit: query.limit, next_cursor: String(position) };
}

interface StepBatch {
  first: number;
  body: Uint8Array;
}

/**
 * Returns the next batches in the order of the list: batches with steps from the position on or, for newest first, with steps
 * before the position.
 */
async function readBatches(ctx: Context, run_id: string, position: number, isAscending: boolean): Promise<StepBatch[]> {
  const { tx: _tx, seq: _seq, ...columns } = getTableColumns(run_steps);
  const ofRun = eq(run_steps.run_id, run_id);
  // A batch can hold at most the steps of one request and one step of the service. So the index can skip all batches that must end
  // before the position.
  const isNext = isAscending
    ? and(gte(run_steps.first, position - MAX_STEPS), sql`${run_steps.first} + ${run_steps.count} > ${position}`)
    : lt(run_steps.first, position);
  const rows = await ctx.db
    .select(columns)
    .from(run_steps)
    .where(and(ofRun, isNext))
    .orderBy(isAscending ? asc(run_steps.first) : desc(run_steps.first))
    .limit(BATCHES);
  return Promise.all(rows.map(async (row) => ({ first: row.first, body: await readStepBody(ctx, row) })));
}
