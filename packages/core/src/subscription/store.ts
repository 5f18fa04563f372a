import { sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import type { NamedWrite } from "../db/batch.ts";
import { runBatch } from "../db/batch.ts";
import type { PreparedWrite } from "../db/prepared-write.ts";
import type { BoardEvent } from "../context/event-body.ts";
import { jobs } from "../schema/job.sql.ts";
import { type JobKind, RETRY_POLICIES } from "../job/kinds.ts";
import { addPendingWakeup } from "../context/pending-wakeups.ts";
import { subscription_deliveries, subscriptions } from "../schema/subscription.sql.ts";

const DELIVER: JobKind = "subscription.deliver";

/** Returns the key that prevents two open jobs from sending the same delivery. */
export const dedupeKey = (delivery_id: string) => `delivery:${delivery_id}`;

/** A condition on `subscription_deliveries`: whether the delivery is about to be sent or is being sent. */
export const hasOpenJob = sql`exists (select 1 from ${jobs} as job
  where job.dedupe_key = ${dedupeKey("")} || ${subscription_deliveries}.id and job.status in ('queued', 'running'))`;

/**
 * Builds the writes for `runBatch` that store a delivery and its job for each event and matching active subscription. The key
 * lock keeps a subscription from being removed between the match and the insert. A subscription gets no event about itself,
 * because such an event means that its own receiver fails.
 */
export function deliveryWrites(ctx: Context, events: readonly BoardEvent[]): NamedWrite[] {
  if (events.length === 0) return [];
  const { matches, stored } = WRITES;
  const now = ctx.now().toISOString();
  return [
    { name: "subscription_events", query: { ...WRITES.events, values: { events: JSON.stringify(events) } } },
    { name: "subscription_matches", query: { ...matches, values: {} } },
    { name: "subscription_stored", query: { ...stored, values: { now } } },
    {
      name: "subscription_jobs",
      query: { ...WRITES.jobs, values: { now, trace_id: ctx.trace_id } },
      onIds: (ids) => {
        for (const id of ids) addPendingWakeup(ctx.pendingWakeups, { id, lane: null });
      },
    },
  ];
}

/** Stores the deliveries of these events in the caller's transaction. */
export async function storeDeliveries(ctx: Context, events: readonly BoardEvent[]): Promise<void> {
  if (events.length > 0) await runBatch(ctx, deliveryWrites(ctx, events));
}

const WRITES = {
  events: {
    key: "subscription events",
    build: (_db, value) => sql`select value as detail, (value ->> 'id')::uuid as event_id, value ->> 'type' as event_type,
        (value ->> 'occurred_at')::timestamptz as occurred_at, (value ->> 'organization_id')::uuid as organization_id,
        (value ->> 'board_id')::uuid as board_id, nextval('change_seq') as seq
      from json_array_elements(${value("events")}::json) as value`,
  },
  matches: {
    key: "subscription matches",
    build: () => sql`select gen_random_uuid() as delivery_id, subscription.id as subscription_id, event.*
      from subscription_events as event join ${subscriptions} as subscription
        on subscription.organization_id = event.organization_id
          and (subscription.board_id is null or subscription.board_id = event.board_id)
          and subscription.id::text <> event.detail -> 'subject' ->> 'id'
      where subscription.active and exists (
        select 1 from unnest(subscription.event_types) as pattern where event.event_type like replace(replace(pattern, '_', '\\_'), '*', '%'))
      for key share of subscription`,
  },
  stored: {
    key: "subscription deliveries",
    build: (_db, value) => sql`insert into ${subscription_deliveries}
        (id, created_at, subscription_id, event_id, event_type, occurred_at, detail, tx, seq)
      select delivery_id, ${value("now")}::timestamptz, subscription_id, event_id, event_type, occurred_at, detail,
        pg_current_xact_id(), seq
      from subscription_matches`,
  },
  jobs: {
    key: "subscription jobs",
    build: (_db, value) => sql`insert into ${jobs}
        (kind, organization_id, subscription_id, payload, dedupe_key, run_at, trace_id, max_attempts)
      select ${DELIVER}, organization_id, subscription_id,
        jsonb_build_object('subscription_id', subscription_id, 'delivery_id', delivery_id),
        ${dedupeKey("")} || delivery_id, ${value("now")}::timestamptz, ${value("trace_id")}::text, ${RETRY_POLICIES[DELIVER].attempts}::int
      from subscription_matches order by seq
      returning id`,
  },
} satisfies Record<string, Pick<PreparedWrite, "key" | "build">>;
