import { and, asc, eq, getTableColumns, sql } from "drizzle-orm";
import * as z from "zod";
import type { User } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { toTimestamp } from "../db/timestamp.ts";
import { DomainError, notFound } from "../values/errors.ts";
import { enqueue } from "../job/job.ts";
import { jobs } from "../schema/job.sql.ts";
import { type JobKind, RETRY_POLICIES } from "../job/kinds.ts";
import { filterBy } from "../lists/filter.ts";
import { newestFirst } from "../lists/keyset.ts";
import { listOf } from "../lists/list.ts";
import { byCursor, toCursorPage } from "../lists/page.ts";
import { MAX_CURSOR } from "../lists/page-cursor.ts";
import { addPendingWakeup } from "../context/pending-wakeups.ts";
import { Id, Instant, InstantInput, QueryInteger, lazyObject } from "../values/wire.ts";
import { type DeliveryRow, toSequence } from "./delivery-row.ts";
import { toMessage } from "./message.ts";
import type { Owner } from "./owner.ts";
import { dedupeKey, hasOpenJob } from "./store.ts";
import type { SubscriptionRow } from "../schema/subscription.sql.ts";
import { getSubscriptionRow } from "./subscription.ts";
import { DELIVERY_STATUSES, subscription_deliveries } from "../schema/subscription.sql.ts";

export const Delivery = lazyObject(() => ({
  id: Id.describe("Id of the delivery."),
  subscription_id: Id.describe("Subscription that the event is sent to."),
  event_id: Id.describe("Id of the event, sent as `webhook-id` at every attempt."),
  event_type: z.string().describe("Name of the event."),
  sequence: z.string().describe("Commit-order cursor of the event; sorts as text."),
  status: z.enum(DELIVERY_STATUSES).describe("`pending` until the receiver accepts it or the last attempt fails."),
  attempts: z.int().describe("How often it was sent."),
  occurred_at: Instant.describe("When the event happened."),
  last_attempt_at: Instant.nullable().describe("When it was last sent."),
  next_attempt_at: Instant.nullable().describe("When it is sent next; null if no attempt follows, or while it is being sent."),
  waits_for: z.enum(["slot"]).nullable().describe("slot: it waits until other deliveries of the receiver or organization end."),
  delivered_at: Instant.nullable().describe("When the receiver accepted it."),
  last_error: z.string().nullable().describe("Why the last attempt failed; null when it did not."),
  response_status: z.int().nullable().describe("Status of the last answer; null when none came."),
  created_at: Instant.describe("When the delivery was stored."),
})).meta({ id: "SubscriptionDelivery", description: "One event for one subscription." });
export type Delivery = z.infer<typeof Delivery>;

export const DeliveryDetail = lazyObject(() => ({
  ...Delivery.shape,
  request: z
    .object({
      headers: z.record(z.string(), z.string()).nullable().describe("Headers of the last attempt; null before the first one."),
      body: z.string().describe("The body, as it is sent."),
    })
    .describe("What is sent."),
  response: z
    .object({
      status: z.int().describe("HTTP status of the answer."),
      body: z.string().describe("The first 1,000 characters of the answer's body."),
      duration_ms: z.int().describe("Milliseconds from sending the request until the answer arrived."),
    })
    .nullable()
    .describe("The last answer; null when none came."),
})).meta({ id: "SubscriptionDeliveryDetail", description: "A delivery with its request and its last answer." });
export type DeliveryDetail = z.infer<typeof DeliveryDetail>;

export const DeliveryPage = lazyObject(() => ({
  items: z.array(Delivery).describe("The deliveries of this page, newest first."),
  next_cursor: z.string().nullable().describe("Pass it as `cursor` for the next page; null on the last page."),
})).meta({ id: "SubscriptionDeliveryPage", description: "A page of deliveries." });
export type DeliveryPage = z.infer<typeof DeliveryPage>;

const MAX_LIMIT = 200;

export const DeliveryQuery = lazyObject(() => ({
  status: z.enum(DELIVERY_STATUSES).optional().describe("Only deliveries with this status."),
  event_type: z.string().trim().max(50).optional().describe("Only deliveries of events with this name."),
  cursor: z.string().max(MAX_CURSOR).optional().describe("The `next_cursor` of the page before; empty for the first page."),
  limit: QueryInteger(1, MAX_LIMIT).default(50).describe("Maximum number of items to return."),
}));
export type DeliveryQuery = z.infer<typeof DeliveryQuery>;

export const RecoverDeliveries = lazyObject(() => ({
  since: InstantInput.describe("Failed deliveries that were stored at or after this time are sent again."),
})).meta({ id: "SubscriptionRecover" });

export const RecoveredDeliveries = lazyObject(() => ({ count: z.int().describe("How many deliveries are sent again.") })).meta({
  id: "SubscriptionRecovered",
  description: "How many deliveries are sent again.",
});

const ofOpenJob = (value: string) => sql`(select ${sql.raw(value)} from ${jobs} as job
  where job.dedupe_key = ${dedupeKey("")} || ${subscription_deliveries}.id and job.status in ('queued', 'running'))`;
const ofQueuedJob = (value: string) => ofOpenJob(`case when job.status = 'queued' then ${value} end`);
/** The status that is shown: a failed delivery has an open job only if its dead job was redriven, and is then pending again. */
const shown_status = sql<DeliveryRow["status"]>`case when ${subscription_deliveries.status} = 'failed' and ${hasOpenJob}
  then 'pending' else ${subscription_deliveries.status} end`;
const columns = {
  ...getTableColumns(subscription_deliveries),
  status: shown_status,
  /** When the queued job of the delivery will run. */
  next_attempt_at: sql<string | null>`${ofQueuedJob(`to_char(job.run_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`)}`,
  waits_for: sql<"slot" | null>`${ofQueuedJob("case when job.held_by is not null then 'slot' end")}`,
};
type Row = DeliveryRow & Pick<Delivery, "next_attempt_at" | "waits_for">;

const deliveryList = listOf({
  name: "subscription deliveries",
  table: subscription_deliveries,
  columns,
  order: newestFirst(subscription_deliveries),
});

/** Lists the deliveries of a subscription, newest first. */
export async function listDeliveries(
  ctx: Context<User>,
  owner: Owner,
  subscription_id: string,
  query: DeliveryQuery,
): Promise<DeliveryPage> {
  const subscription = await getSubscriptionRow(ctx, owner, subscription_id);
  const page = await deliveryList.read(ctx, byCursor(query), {
    owner: subscription.id,
    filters: [
      filterBy("subscription_id", subscription.id, (id) => eq(subscription_deliveries.subscription_id, id)),
      filterBy("status", query.status, (status) => sql`${shown_status} = ${status}`),
      filterBy("event_type", query.event_type, (type) => eq(subscription_deliveries.event_type, type)),
    ],
    toItem: toDelivery,
  });
  const { items, next_cursor } = toCursorPage(page);
  return { items, next_cursor };
}

export async function getDelivery(
  ctx: Context<User>,
  owner: Owner,
  subscription_id: string,
  delivery_id: string,
): Promise<DeliveryDetail> {
  const subscription = await getSubscriptionRow(ctx, owner, subscription_id);
  const row = await getDeliveryRow(ctx, subscription, delivery_id);
  const { response_status: status, response_body: body, response_ms: duration_ms } = row;
  return {
    ...toDelivery(row),
    request: { headers: row.request_headers, body: toMessage(ctx.settings, subscription, row).body },
    response: status === null ? null : { status, body: body ?? "", duration_ms: duration_ms ?? 0 },
  };
}

async function getDeliveryRow(ctx: Context, subscription: SubscriptionRow, delivery_id: string): Promise<Row> {
  const [row] = await ctx.db
    .select(columns)
    .from(subscription_deliveries)
    .where(and(eq(subscription_deliveries.id, delivery_id), eq(subscription_deliveries.subscription_id, subscription.id)));
  if (!row) throw notFound();
  return row;
}

/** Sends a delivery again, with the same event id. A delivery that waits for its next attempt is sent at once. */
export function redeliver(ctx: Context<User>, owner: Owner, subscription_id: string, delivery_id: string): Promise<Delivery> {
  return transaction(ctx, async (ctx) => {
    const subscription = await getActive(ctx, owner, subscription_id);
    await lockOpenJobs(ctx, subscription, delivery_id);
    const isDelivery = and(
      eq(subscription_deliveries.id, delivery_id),
      eq(subscription_deliveries.subscription_id, subscription.id),
    );
    const [found] = await ctx.db
      .update(subscription_deliveries)
      .set({ status: "pending", delivered_at: null })
      .where(isDelivery)
      .returning({ id: subscription_deliveries.id });
    if (!found) throw notFound();
    const [waiting] = await ctx.db
      .update(jobs)
      .set({ run_at: ctx.now(), sent_at: null })
      .where(and(eq(jobs.dedupe_key, dedupeKey(delivery_id)), eq(jobs.status, "queued")))
      .returning({ id: jobs.id, lane: jobs.lane });
    if (waiting) addPendingWakeup(ctx.pendingWakeups, waiting);
    else
      await enqueue(
        ctx,
        "subscription.deliver",
        { subscription_id, delivery_id },
        { organization_id: owner.organization_id, subscription_id, dedupe_key: dedupeKey(delivery_id) },
      );
    return toDelivery(await getDeliveryRow(ctx, subscription, delivery_id));
  });
}

/** Locks the open jobs of a subscription or of one delivery. Jobs are locked before deliveries, as at the end of an attempt. */
const lockOpenJobs = (ctx: Context, subscription: SubscriptionRow, delivery_id?: string) =>
  ctx.db
    .select({ id: jobs.id })
    .from(jobs)
    .where(
      and(
        eq(jobs.subscription_id, subscription.id),
        delivery_id === undefined ? undefined : eq(jobs.dedupe_key, dedupeKey(delivery_id)),
        sql`${jobs.status} in ('queued', 'running')`,
      ),
    )
    .orderBy(asc(jobs.id))
    .for("no key update");

/** The maximum number of deliveries that one request sends again. For more, the caller repeats the request. */
const RECOVER_LIMIT = 10_000;

/** Sends the failed deliveries again that were created since a time, oldest first. */
export function recoverDeliveries(
  ctx: Context<User>,
  owner: Owner,
  subscription_id: string,
  { since }: z.infer<typeof RecoverDeliveries>,
): Promise<{ count: number }> {
  return transaction(ctx, async (ctx) => {
    const subscription = await getActive(ctx, owner, subscription_id);
    await lockOpenJobs(ctx, subscription);
    const kind: JobKind = "subscription.deliver";
    const result = await ctx.db.execute(sql`
      with revived as (
        update ${subscription_deliveries} set status = 'pending' where id in (
          select id from ${subscription_deliveries}
          where subscription_id = ${subscription.id} and status = 'failed' and created_at >= ${toTimestamp(since)}
          order by created_at, id limit ${RECOVER_LIMIT} for no key update)
        returning id, created_at
      ), queued as (
        insert into ${jobs} (kind, organization_id, subscription_id, payload, dedupe_key, run_at, trace_id, max_attempts)
        select ${kind}, ${owner.organization_id}::uuid, ${subscription.id}::uuid,
          jsonb_build_object('subscription_id', ${subscription.id}::text, 'delivery_id', id),
          ${dedupeKey("")} || id, ${toTimestamp(ctx.now())}, ${ctx.trace_id}::text, ${RETRY_POLICIES[kind].attempts}::int
        from revived order by created_at, id
        on conflict do nothing returning id)
      select id from queued`);
    const ids = rowsOf<{ id: string }>(result).map(({ id }) => id);
    for (const id of ids) addPendingWakeup(ctx.pendingWakeups, { id, lane: null });
    return { count: ids.length };
  });
}

/**
 * Returns the subscription. Throws `conflict` if the subscription is switched off, because its deliveries would fail again. Locks
 * the subscription before its deliveries, as a removal does. Otherwise the two transactions could deadlock.
 */
async function getActive(ctx: Context, owner: Owner, subscription_id: string): Promise<SubscriptionRow> {
  const subscription = await getSubscriptionRow(ctx, owner, subscription_id, "locked");
  if (!subscription.active) throw new DomainError("conflict", "The subscription is not active. Set active to true first.");
  return subscription;
}

function toDelivery(row: Row): Delivery {
  const { id, subscription_id, event_id, event_type, status, attempts, last_error, response_status } = row;
  return {
    id,
    subscription_id,
    event_id,
    event_type,
    sequence: toSequence(row),
    status,
    attempts,
    occurred_at: row.occurred_at.toISOString(),
    last_attempt_at: row.last_attempt_at?.toISOString() ?? null,
    next_attempt_at: row.next_attempt_at,
    waits_for: row.waits_for,
    delivered_at: row.delivered_at?.toISOString() ?? null,
    last_error,
    response_status,
    created_at: row.created_at.toISOString(),
  };
}
