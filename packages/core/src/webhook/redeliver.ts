import { and, asc, eq, gte, inArray, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import { boardFor } from "../organization/access.ts";
import type { User } from "../context/actor.ts";
import { agents } from "../schema/agent.sql.ts";
import { type Context, transaction } from "../context/context.ts";
import { notFound } from "../values/errors.ts";
import { enqueueAll } from "../job/job.ts";
import { jobs } from "../schema/job.sql.ts";
import { hostLane } from "../values/session-key.ts";
import { InstantInput, lazyObject } from "../values/wire.ts";
import { deliveryStatus, isNotifyJob } from "./delivery.ts";
import { isTargetCandidate, targetFirst } from "./target.ts";
import { board_webhook_payloads, board_webhooks } from "../schema/webhook.sql.ts";
import { chunk } from "../values/chunk.ts";

/** The maximum number of payloads that one request redelivers. */
const MAX_PAYLOADS = 10_000;
/** Rows per insert. This is well below the maximum number of parameters. */
const BATCH_SIZE = 1_000;

export const RedeliverPayloads = lazyObject(() => ({
  status: z.enum(["failed", "no_target"]).describe("Payloads with this delivery status."),
  since: InstantInput.optional().describe("Only payloads that were received at this time or later."),
})).meta({ id: "BoardWebhookRedeliver" });
export type RedeliverPayloads = z.infer<typeof RedeliverPayloads>;

export const Redelivered = lazyObject(() => ({
  ok: z.literal(true).describe("The agent is notified in the background."),
  redelivered: z.int().describe("Number of payloads about which the agent is notified again."),
  has_more: z.boolean().describe("Whether more payloads match; repeat the request for them."),
})).meta({ id: "BoardWebhookRedelivered", description: "The result of redelivering payloads." });
export type Redelivered = z.infer<typeof Redelivered>;

/**
 * Notifies the agent again about a payload, no matter what its delivery status is. Does not add a second redelivery while an
 * earlier one waits for its first attempt.
 */
export function redeliverPayload(
  ctx: Context<User>,
  board_id: string,
  webhook_id: string,
  payload_id: string,
): Promise<Redelivered> {
  return transaction(ctx, async (ctx) => {
    const owner = await lockWebhook(ctx, board_id, webhook_id);
    const [payload] = await ctx.db
      .select({
        id: board_webhook_payloads.id,
        notify_job_id: board_webhook_payloads.notify_job_id,
        is_waiting: sql<boolean>`coalesce(${jobs.status} = 'queued' and ${jobs.attempts} = 0 and ${jobs.payload} ? 'redelivery', false)`,
      })
      .from(board_webhook_payloads)
      .leftJoin(jobs, isNotifyJob)
      .where(and(eq(board_webhook_payloads.id, payload_id), isOfWebhook(owner)));
    if (!payload) throw notFound();
    if (!payload.is_waiting) {
      await removeDeadJobs(ctx, owner, [payload]);
      await enqueueRedeliveries(ctx, owner, [payload.id]);
    }
    return { ok: true, redelivered: 1, has_more: false };
  });
}

/** Notifies the agent again about all payloads with the given delivery status, oldest first. */
export function redeliverPayloads(
  ctx: Context<User>,
  board_id: string,
  webhook_id: string,
  { status, since }: RedeliverPayloads,
): Promise<Redelivered> {
  return transaction(ctx, async (ctx) => {
    const owner = await lockWebhook(ctx, board_id, webhook_id);
    const found = await ctx.db
      .select({
        id: board_webhook_payloads.id,
        notify_job_id: board_webhook_payloads.notify_job_id,
        job_status: jobs.status,
      })
      .from(board_webhook_payloads)
      .leftJoin(jobs, isNotifyJob)
      .where(
        and(isOfWebhook(owner), eq(deliveryStatus, status), since ? gte(board_webhook_payloads.received_at, since) : undefined),
      )
      .orderBy(asc(board_webhook_payloads.received_at), asc(board_webhook_payloads.id))
      .limit(MAX_PAYLOADS + 1);
    const payloads = found.slice(0, MAX_PAYLOADS);
    const removed = await removeDeadJobs(ctx, owner, payloads);
    // If the dead job of a payload could not be removed, it was redriven in the meantime and will notify the agent itself.
    const ids = payloads
      .filter(({ job_status, notify_job_id }) => job_status !== "dead" || removed.has(notify_job_id!))
      .map(({ id }) => id);
    for (const batch of chunk(ids, BATCH_SIZE)) await enqueueRedeliveries(ctx, owner, batch);
    return { ok: true, redelivered: ids.length, has_more: found.length > MAX_PAYLOADS };
  });
}

interface Owner {
  board_id: string;
  webhook_id: string;
  organization_id: string;
  gateway_id: string;
  session_key: string | null;
}

/** Locks the webhook, so that only one request at a time redelivers. Posts of new payloads do not wait for this lock. */
async function lockWebhook(ctx: Context<User>, board_id: string, webhook_id: string): Promise<Owner> {
  const board = await boardFor(ctx, board_id, "write");
  const [webhook] = await ctx.db
    .select({
      webhook_id: board_webhooks.id,
      session_key: sql<string | null>`(
        select ${agents.openclaw_session_id} from ${agents} where ${isTargetCandidate} order by ${targetFirst} limit 1)`,
    })
    .from(board_webhooks)
    .where(and(eq(board_webhooks.id, webhook_id), eq(board_webhooks.board_id, board.id)))
    .for("no key update");
  if (!webhook) throw notFound();
  const { id, organization_id, gateway_id } = board;
  return { board_id: id, organization_id, gateway_id, ...webhook };
}

const isOfWebhook = ({ board_id, webhook_id }: Owner): SQL =>
  and(eq(board_webhook_payloads.webhook_id, webhook_id), eq(board_webhook_payloads.board_id, board_id))!;

/** Removes the dead jobs of payloads. Otherwise redriving the organization's dead jobs would notify the agent once more. */
async function removeDeadJobs(
  ctx: Context,
  { organization_id }: Owner,
  payloads: readonly { notify_job_id: string | null }[],
): Promise<Set<string>> {
  const ids = payloads.flatMap(({ notify_job_id }) => notify_job_id ?? []);
  const removed = await ctx.db
    .delete(jobs)
    .where(and(inArray(jobs.id, asUuids(ids)), eq(jobs.status, "dead"), eq(jobs.organization_id, organization_id)))
    .returning({ id: jobs.id });
  return new Set(removed.map(({ id }) => id));
}

/** Passes any number of ids as one parameter. */
const asUuids = (ids: readonly string[]) => sql`(select unnest(${sql.param(ids)}::uuid[]))`;

async function enqueueRedeliveries(ctx: Context, owner: Owner, payload_ids: readonly string[]): Promise<void> {
  const { board_id, webhook_id, organization_id, gateway_id, session_key } = owner;
  const lane = session_key === null ? {} : { lane: hostLane(gateway_id, session_key) };
  const redeliveries = payload_ids.map((payload_id) => ({ payload_id, id: crypto.randomUUID() }));
  await enqueueAll(
    ctx,
    redeliveries.map(({ payload_id, id }) => ({
      kind: "webhook.notify",
      payload: { board_id, webhook_id, payload_id, redelivery: true },
      options: { id, organization_id, gateway_id, ...lane },
    })),
  );
  const job_ids = redeliveries.map(({ id }) => id);
  await ctx.db.execute(sql`
    update ${board_webhook_payloads} as payload set notify_job_id = redelivery.job_id
    from unnest(${sql.param(payload_ids)}::uuid[], ${sql.param(job_ids)}::uuid[]) as redelivery(id, job_id)
    where payload.id = redelivery.id and payload.board_id = ${board_id}`);
}
