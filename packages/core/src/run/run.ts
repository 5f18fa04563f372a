import { and, eq, getTableColumns, gte, lt, sql } from "drizzle-orm";
import * as z from "zod";
import { boardFor } from "../organization/access.ts";
import type { CallerContext, Context } from "../context/context.ts";
import { filterBy } from "../lists/filter.ts";
import { descending, idKey, type SortOrder, timeKey } from "../lists/keyset.ts";
import { type LargeField, truncatable } from "../lists/large-fields.ts";
import { listOf } from "../lists/list.ts";
import { type Page, type PageQuery, pageQuery } from "../lists/page.ts";
import { RUN_LINK_KINDS, runs } from "../schema/run.sql.ts";
import { getTask } from "../task/list.ts";
import { RunStatus } from "../task/task-run.ts";
import { notFound } from "../values/errors.ts";
import { Id, Instant, InstantInput, lazyObject } from "../values/wire.ts";

const tokens = (what: string) => z.int().describe(`${what} that were reported.`);

const counts = {
  input_tokens: tokens("Input tokens"),
  output_tokens: tokens("Output tokens"),
  cached_input_tokens: tokens("Input tokens from the model's cache"),
  reasoning_tokens: tokens("Output tokens of hidden reasoning"),
  cost_usd: z.string().nullable().describe("Sum of the reported prices as a decimal number; null if nobody reported one."),
  turns: z.int().describe("Number of reports."),
};

export const RunUsage = lazyObject(() => ({
  ...counts,
  models: z.array(z.object({ model: z.string().describe("Name of the model."), ...counts })).describe("The usage of each model."),
})).meta({ id: "RunUsage", description: "What a run has used, as its agent reported it." });

export const RunClient = lazyObject(() => ({
  name: z.string().describe("Name of the program, such as `claude-code`."),
  version: z.string().nullable().describe("Its version."),
  host: z.string().nullable().describe("Machine on which it runs."),
})).meta({ id: "RunClient", description: "The program that works on a task, as its agent names it." });

export const RunLink = lazyObject(() => ({
  kind: z.enum(RUN_LINK_KINDS).describe("What the address leads to."),
  url: z.string().describe("An https or git address."),
  title: z.string().nullable().describe("Text to show instead of the address."),
})).meta({ id: "RunLink", description: "A result of a run." });

export const Run = lazyObject(() => ({
  id: Id.describe("Id of the run."),
  board_id: Id.describe("Board of the task."),
  task_id: Id.describe("Task that the agent works on."),
  agent_id: Id.describe("Agent that works on it, also after its removal."),
  agent_name: z.string().describe("Name that the agent had when the run began."),
  fence: z.int().describe("Fence of the lease under which the agent works."),
  status: RunStatus.describe("`running`, or how the run ended."),
  started_at: Instant.describe("When the run began."),
  ended_at: Instant.nullable().describe("When it ended."),
  ended_reason: z
    .string()
    .nullable()
    .describe("Why it ended, in one sentence; null while it runs or when the work was submitted."),
  client: RunClient.nullable().describe("The program that does the work; null if the agent did not name it."),
  usage: RunUsage.describe("What the run has used."),
  links: z.array(RunLink).describe("Results of the run."),
  steps: z.int().describe("Number of its stored steps."),
  steps_expired_at: Instant.nullable().describe("When its steps were removed because of their age."),
  ...truncatable,
})).meta({ id: "Run", description: "One attempt of an agent on a task." });
export type Run = z.infer<typeof Run>;

export type RunRow = typeof runs.$inferSelect;

export const RunQuery = lazyObject(() => ({
  ...pageQuery().shape,
  agent_id: Id.optional().describe("Only runs of this agent."),
  status: RunStatus.optional().describe("Only runs in this state."),
  since: InstantInput.optional().describe("Only runs that began at this time or later."),
  until: InstantInput.optional().describe("Only runs that began before this time."),
}));
export type RunQuery = z.infer<typeof RunQuery>;

const runOrder: SortOrder<Pick<RunRow, "started_at" | "id">> = descending(
  timeKey(runs.started_at, ({ started_at }) => started_at),
  idKey(runs.id, ({ id }) => id),
);

const largeArray: LargeField = { bytes: (column) => sql`octet_length(${column}::text)`, shorten: () => sql`'[]'::jsonb` };

const runList = listOf({
  name: "runs",
  table: runs,
  columns: getTableColumns(runs),
  large: { links: largeArray, models: { ...largeArray, shown_as: ["usage"] } },
  order: runOrder,
  skips_in_index: true,
});

/** Lists the runs of a board, newest first. */
export async function listRuns(ctx: CallerContext, board_id: string, query: RunQuery): Promise<Page<Run>> {
  const board = await boardFor(ctx, board_id, "read");
  return runList.read(ctx, query, {
    owner: board.id,
    filters: [
      filterBy("board_id", board.id, (id) => eq(runs.board_id, id)),
      filterBy("agent_id", query.agent_id, (id) => eq(runs.agent_id, id)),
      filterBy("status", query.status, (status) => eq(runs.status, status)),
      filterBy("since", query.since?.toISOString(), (time) => gte(runs.started_at, sql`${time}::timestamptz`)),
      filterBy("until", query.until?.toISOString(), (time) => lt(runs.started_at, sql`${time}::timestamptz`)),
    ],
    toItem: toRun,
  });
}

/** Lists the runs of a task, newest first. */
export async function listTaskRuns(ctx: CallerContext, board_id: string, task_id: string, query: PageQuery): Promise<Page<Run>> {
  const task = await getTask(ctx, board_id, task_id);
  return runList.read(ctx, query, {
    owner: task.id,
    filters: [
      filterBy("board_id", task.board_id, (id) => eq(runs.board_id, id)),
      filterBy("task_id", task.id, (id) => eq(runs.task_id, id)),
    ],
    toItem: toRun,
  });
}

export async function getRun(ctx: CallerContext, board_id: string, run_id: string): Promise<Run> {
  const board = await boardFor(ctx, board_id, "read");
  return toRun(await readRun(ctx, board.id, run_id));
}

/** Returns a run of a board. Throws `not_found`. */
export async function readRun(ctx: Context, board_id: string, run_id: string): Promise<RunRow> {
  const [row] = await ctx.db
    .select()
    .from(runs)
    .where(and(eq(runs.id, run_id), eq(runs.board_id, board_id)));
  if (!row) throw notFound();
  return row;
}

export function toRun(row: RunRow): Run {
  const { input_tokens, output_tokens, cached_input_tokens, reasoning_tokens, cost_usd, turns, models } = row;
  return {
    id: row.id,
    board_id: row.board_id,
    task_id: row.task_id,
    agent_id: row.agent_id,
    agent_name: row.agent_name,
    fence: row.fence,
    status: row.status,
    started_at: row.started_at.toISOString(),
    ended_at: row.ended_at?.toISOString() ?? null,
    ended_reason: row.ended_reason,
    client: row.client,
    usage: { input_tokens, output_tokens, cached_input_tokens, reasoning_tokens, cost_usd, turns, models },
    links: row.links,
    steps: row.steps,
    steps_expired_at: row.steps_expired_at?.toISOString() ?? null,
  };
}
