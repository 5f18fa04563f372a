import { sql } from "drizzle-orm";
import type { Context } from "../context.ts";
import type { NamedWrite } from "../db/batch.ts";
import { runBatch } from "../db/batch.ts";
import { toTimestamp } from "../db/timestamp.ts";
import type { BoardEvent } from "../event-bus/board-event.ts";
import { jobs } from "../job/job.sql.ts";
import { type JobKind, RETRY_POLICIES } from "../job/kinds.ts";
import { addPendingWakeup } from "../pending-wakeups.ts";
import { subscription_deliveries, subscriptions } from "./subscription.sql.ts";

const DELIVER: JobKind = "subscription.deliver";

/** At most one live job sends a delivery. */
export const dedupeKey = (delivery_id: string) => `delivery:${delivery_id}`;

/**
 * The writes of a batch that store a delivery and its job for each event and active subscription that matches it. They
 * belong to the statement that stores the change, so that a change costs no further one. The key lock lets no subscription
 * be removed between the match and the insert.
 */
export function deliveryWrites(ctx: Context, events: readonly BoardEvent[]): NamedWrite[] {
  if (events.length === 0) return [];
  const now = toTimestamp(ctx.now());
  return [
    {
      name: "subscription_events",
      query: sql`select value as detail, (value ->> 'id')::uuid as event_id, value ->> 'type' as event_type,
          (value ->> 'occurred_at')::timestamptz as occurred_at, (value ->> 'organization_id')::uuid as organization_id,
          (value ->> 'board_id')::uuid as board_id, nextval('change_seq') as seq
        from json_array_elements(${JSON.stringify(events)}::json) as value`,
    },
    {
      name: "subscription_matches",
      query: sql`select gen_random_uuid() as delivery_id, subscription.id as subscription_id, event.*
        from subscription_events as event join ${subscriptions} as subscription
          on subscription.organization_id = event.organization_id
            and (subscription.board_id is null or subscription.board_id = event.board_id)
        where subscription.active and exists (
          select 1 from unnest(subscription.event_types) as pattern where event.event_type like replace(pattern, '*', '%'))
        for key share of subscription`,
    },
    {
      name: "subscription_stored",
      query: sql`insert into ${subscription_deliveries}
          (id, created_at, subscription_id, event_id, event_type, occurred_at, detail, tx, seq)
        select delivery_id, ${now}, subscription_id, event_id, event_type, occurred_at, detail, pg_current_xact_id(), seq
        from subscription_matches`,
    },
    {
      name: "subscription_jobs",
      query: sql`insert into ${jobs}
          (kind, organization_id, subscription_id, payload, dedupe_key, run_at, trace_id, max_attempts)
        select ${DELIVER}, organization_id, subscription_id,
          jsonb_build_object('subscription_id', subscription_id, 'delivery_id', delivery_id),
          ${dedupeKey("")} || delivery_id, ${now}, ${ctx.trace_id}::text, ${RETRY_POLICIES[DELIVER].attempts}::int
        from subscription_matches order by seq
        returning id`,
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
