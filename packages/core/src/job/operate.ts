import { and, asc, eq, inArray, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import type { Admin } from "../context/actor.ts";
import { agents } from "../schema/agent.sql.ts";
import { type Context, transaction } from "../context/context.ts";
import { violatedUniqueIndex } from "../db/query-error.ts";
import { DomainError, notFound } from "../values/errors.ts";
import { conditionOf, type Filter, filterBy, presentOf } from "../lists/filter.ts";
import { descending, integerKey } from "../lists/keyset.ts";
import { listOf } from "../lists/list.ts";
import { byCursor, toCursorPage } from "../lists/page.ts";
import { MAX_CURSOR } from "../lists/page-cursor.ts";
import { Id, Instant, QueryInteger, lazyObject } from "../values/wire.ts";
import { JOB_STATUSES, jobs } from "../schema/job.sql.ts";
import { type JobKind, RETRY_POLICIES } from "./kinds.ts";
import { MAX_REDRIVEN, redriveWhere } from "./redrive.ts";
import { removeJobs } from "./remove.ts";
import { lastError, nextAttemptAt, WAITS_FOR, WAITS_FOR_TEXT, waitsFor } from "./waiting.ts";

const subjectId = (what: string) => Id.nullable().describe(`${what} that the job is about.`);

export const Job = lazyObject(() => ({
  id: Id.describe("Id of the job."),
  kind: z.string().describe("What the job does, such as webhook.notify."),
  status: z
    .enum(JOB_STATUSES)
    .describe("queued: waits for its next attempt. running: an attempt runs. done: succeeded. dead: given up."),
  attempts: z.int().describe("Attempts so far."),
  max_attempts: z.int().describe("Attempts after which the job is given up."),
  last_error: z
    .string()
    .nullable()
    .describe("Why the last attempt failed. Before the first attempt: why the host is down that the job waits for."),
  waits_for: z.enum(WAITS_FOR).nullable().describe(WAITS_FOR_TEXT),
  held_by: z
    .enum(["circuit", "organization", "gateway", "subscription"])
    .nullable()
    .describe("What a due job waits for: its host (circuit), or a free slot of its organization, gateway or subscription."),
  gateway_id: subjectId("Gateway"),
  board_id: subjectId("Board"),
  agent_id: subjectId("Agent"),
  webhook_id: subjectId("Webhook"),
  payload_id: subjectId("Webhook payload"),
  run_id: subjectId("Run of a sync"),
  subscription_id: subjectId("Subscription"),
  created_at: Instant.describe("When the job was stored."),
  next_attempt_at: Instant.nullable().describe("When the next attempt of a queued job is due."),
  finished_at: Instant.nullable().describe("When the job ended."),
})).meta({ id: "Job", description: "A piece of background work, such as telling an agent about a webhook payload." });
export type Job = z.infer<typeof Job>;

export const JobPage = lazyObject(() => ({
  items: z.array(Job).describe("The jobs of this page, newest first."),
  limit: z.int().describe("The limit that was applied."),
  next_cursor: z.string().nullable().describe("The cursor of the next page; null on the last page."),
})).meta({ id: "JobPage", description: "A page of jobs." });
export type JobPage = z.infer<typeof JobPage>;

const KINDS = Object.keys(RETRY_POLICIES) as [JobKind, ...JobKind[]];

export const RedriveJobs = lazyObject(() => ({
  kind: z.enum(KINDS).optional().describe("Only jobs of this kind."),
  board_id: Id.optional().describe("Only jobs about this board."),
  gateway_id: Id.optional().describe("Only jobs of this gateway."),
})).meta({ id: "JobsRedrive" });
export type RedriveJobs = z.infer<typeof RedriveJobs>;

export const jobListQuery = lazyObject(() => ({
  status: z.enum(JOB_STATUSES).optional().describe("Only jobs with this status."),
  ...RedriveJobs.shape,
  limit: QueryInteger(1, 200).default(50).describe("Maximum number of items to return."),
  cursor: z.string().max(MAX_CURSOR).optional().describe("The next_cursor of the page before; empty for the first page."),
}));

export const JobsRedriven = lazyObject(() => ({
  ok: z.literal(true).describe("The jobs are queued."),
  redriven: z.int().describe("Number of jobs that are queued again."),
  has_more: z.boolean().describe("More dead jobs may match; repeat the request for them."),
})).meta({ id: "JobsRedriven", description: "Dead jobs that are queued again." });
export type JobsRedriven = z.infer<typeof JobsRedriven>;

/** Returns SQL for an id in the job's payload. Other parts of the payload, such as texts, must not be shown. */
const payloadId = (name: string) => sql<string | null>`${jobs.payload} ->> ${sql.raw(`'${name}'`)}`;

/**
 * Returns SQL for an id in a job of the kind `notice`. Its board and agent are stored only in the activity events of the payload,
 * `sent` and `failed`.
 */
const noticeId = (name: string) => {
  const key = sql.raw(`'${name}'`);
  return sql`coalesce(${jobs.payload} -> 'sent' ->> ${key}, ${jobs.payload} -> 'failed' ->> ${key})`;
};

const boardId = sql<string | null>`coalesce(${payloadId("board_id")}, ${noticeId("board_id")},
  (select ${agents.board_id}::text from ${agents} where ${agents.id} = (${payloadId("agent_id")})::uuid))`;

const columns = {
  id: jobs.id,
  kind: jobs.kind,
  status: jobs.status,
  attempts: jobs.attempts,
  max_attempts: jobs.max_attempts,
  last_error: lastError,
  waits_for: waitsFor,
  held_by: jobs.held_by,
  gateway_id: jobs.gateway_id,
  board_id: boardId,
  agent_id: sql<string | null>`coalesce(${payloadId("agent_id")}, ${noticeId("agent_id")}, ${jobs.result} ->> 'agent_id')`,
  webhook_id: payloadId("webhook_id"),
  payload_id: payloadId("payload_id"),
  run_id: payloadId("run_id"),
  subscription_id: jobs.subscription_id,
  created_at: jobs.created_at,
  next_attempt_at: nextAttemptAt,
  finished_at: jobs.finished_at,
  seq: jobs.seq,
};

const jobList = listOf({
  name: "jobs",
  table: jobs,
  columns,
  order: descending(integerKey(jobs.seq, ({ seq }: { seq: bigint }) => seq)),
});

const ofOrganization = ({ actor }: Context<Admin>): SQL => eq(jobs.organization_id, actor.active.organization_id);

const filtersOf = (ctx: Context<Admin>, { kind, board_id, gateway_id }: RedriveJobs): (Filter | null)[] => [
  filterBy("organization_id", ctx.actor.active.organization_id, (id) => eq(jobs.organization_id, id)),
  filterBy("kind", kind, (kind) => eq(jobs.kind, kind)),
  filterBy("gateway_id", gateway_id, (id) => eq(jobs.gateway_id, id)),
  filterBy("board_id", board_id, (id) => sql`${boardId} = ${id}`),
];

/** Lists the jobs of the active organization, newest first. */
export async function listOwnJobs(ctx: Context<Admin>, query: z.infer<typeof jobListQuery>): Promise<JobPage> {
  const page = await jobList.read(ctx, byCursor(query), {
    owner: ctx.actor.active.organization_id,
    filters: [...filtersOf(ctx, query), filterBy("status", query.status, (status) => eq(jobs.status, status))],
    toItem: toJob,
  });
  return toCursorPage(page);
}

export async function getOwnJob(ctx: Context<Admin>, job_id: string): Promise<Job> {
  const [row] = await ctx.db
    .select(columns)
    .from(jobs)
    .where(and(eq(jobs.id, job_id), ofOrganization(ctx)));
  if (!row) throw notFound();
  return toJob(row);
}

/** Queues a dead job again. If several requests do this at the same time, only one succeeds. */
export async function redriveJob(ctx: Context<Admin>, job_id: string): Promise<Job> {
  const redriven = await redriveOwn(ctx, and(eq(jobs.id, job_id), ofOrganization(ctx))!);
  const job = await getOwnJob(ctx, job_id);
  if (redriven.length > 0) return job;
  throw new DomainError(
    "conflict",
    job.status === "dead"
      ? "Another job does the work of this one. Delete this one."
      : "The job is not dead. Only dead jobs can be redriven.",
  );
}

/** Queues matching dead jobs again, oldest first, up to `MAX_REDRIVEN`. */
export async function redriveOwnJobs(ctx: Context<Admin>, filter: RedriveJobs): Promise<JobsRedriven> {
  const oldest = ctx.db
    .select({ id: jobs.id })
    .from(jobs)
    .where(and(conditionOf(...presentOf(filtersOf(ctx, filter))), eq(jobs.status, "dead")))
    .orderBy(asc(jobs.seq))
    .limit(MAX_REDRIVEN)
    .for("no key update", { skipLocked: true });
  const redriven = await redriveOwn(ctx, and(inArray(jobs.id, oldest), ofOrganization(ctx))!);
  return { ok: true, redriven: redriven.length, has_more: redriven.length === MAX_REDRIVEN };
}

async function redriveOwn(ctx: Context<Admin>, which: SQL): Promise<string[]> {
  try {
    return await transaction(ctx, (ctx) => redriveWhere(ctx, which));
  } catch (error) {
    if (violatedUniqueIndex(error) !== "jobs_dedupe") throw error;
    throw new DomainError("conflict", "Another job for the same work was stored at the same time. Try again.");
  }
}

/** Deletes a dead job. If it was to notify an agent of a webhook payload, the payload still shows that the delivery failed. */
export async function removeJob(ctx: Context<Admin>, job_id: string): Promise<void> {
  const condition = and(eq(jobs.id, job_id), eq(jobs.status, "dead"), ofOrganization(ctx))!;
  const { count } = await removeJobs<{ count: number }>(ctx, condition, sql`count(*)::int as count`);
  if (count > 0) return;
  await getOwnJob(ctx, job_id);
  throw new DomainError("conflict", "The job is not dead. Only dead jobs can be deleted.");
}

type ListedRow = Omit<Job, "created_at" | "next_attempt_at" | "finished_at"> & {
  created_at: Date;
  next_attempt_at: Date | null;
  finished_at: Date | null;
  seq: bigint;
};

function toJob({ created_at, next_attempt_at, finished_at, seq: _seq, ...job }: ListedRow): Job {
  return {
    ...job,
    created_at: created_at.toISOString(),
    next_attempt_at: next_attempt_at?.toISOString() ?? null,
    finished_at: finished_at?.toISOString() ?? null,
  };
}
