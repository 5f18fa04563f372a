import { and, eq, ne, sql } from "drizzle-orm";
import { dailyKey, storeAlerts } from "../alert/alert-job.ts";
import { authorOf } from "../context/author.ts";
import { recordLateEvent } from "../activity/activity.ts";
import { type Context, transaction } from "../context/context.ts";
import type { Alert } from "../context/alert.ts";
import { ExpectedFailure } from "../values/errors.ts";
import type { JobHandler } from "../job/handler.ts";
import { jobs } from "../schema/job.sql.ts";
import type { JobPayloads } from "../job/kinds.ts";
import { addPendingWakeup } from "../context/pending-wakeups.ts";
import { DAY_MS } from "../values/time.ts";
import type { DeliveryRow } from "./delivery-row.ts";
import { toMessage } from "./message.ts";
import { type Attempt, sendMessage } from "./send.ts";
import { hasOpenJob } from "./store.ts";
import type { SubscriptionRow } from "../schema/subscription.sql.ts";
import { subscription_deliveries, subscriptions } from "../schema/subscription.sql.ts";

/** A subscription is switched off when every attempt over this period has failed. */
const MAX_FAILING_MS = 5 * DAY_MS;
/**
 * A receiver that takes longer to answer counts as slow. It then gets one message at a time, so that it does not delay other
 * receivers.
 */
const SLOW_MS = 5_000;
/** How many waiting deliveries to wake once a slow receiver is fast again. */
const WAKE_UPS = 20;

const INACTIVE = "The subscription is not active.";

/** Thrown when the receiver did not accept the message and another attempt will follow. */
class DeliveryFailed extends ExpectedFailure {
  override readonly name = "DeliveryFailed";
  readonly #retry_after_ms: number | null;
  constructor({ error, retry_after_ms }: Attempt) {
    super(error ?? "");
    this.#retry_after_ms = retry_after_ms;
  }

  override get retry_after_ms(): number | null {
    return this.#retry_after_ms;
  }
}

/**
 * Sends an event to one subscription. Even if the last attempt fails, the job ends as done, not dead. The organization sees the
 * failure in the delivery, and the operator cannot fix it.
 */
export const deliverEvent: JobHandler<"subscription.deliver"> = {
  async run(ctx, payload, { is_last_attempt }) {
    const found = await findDelivery(ctx, payload);
    // A failed delivery is sent too. If it still has a job, somebody has redriven its dead job.
    if (!found || found.delivery.status === "delivered") return;
    const { delivery, subscription } = found;
    if (!subscription.active) return (ctx) => markFailed(ctx, delivery.id, INACTIVE);
    const attempt = await sendMessage(ctx, subscription, toMessage(ctx.settings, subscription, delivery));
    const isEnd = attempt.error === null || attempt.is_gone || is_last_attempt;
    if (isEnd) return (ctx) => recordAttempt(ctx, found, attempt, attempt.error === null ? "delivered" : "failed");
    await transaction(ctx, (ctx) => recordAttempt(ctx, found, attempt, "pending"));
    throw new DeliveryFailed(attempt);
  },

  onDead: (ctx, { delivery_id }, reason) => markFailed(ctx, delivery_id, reason),
};

interface Found {
  delivery: DeliveryRow;
  subscription: SubscriptionRow;
}

async function findDelivery(
  ctx: Context,
  { delivery_id, subscription_id }: JobPayloads["subscription.deliver"],
): Promise<Found | undefined> {
  const [found] = await ctx.db
    .select({ delivery: subscription_deliveries, subscription: subscriptions })
    .from(subscription_deliveries)
    .innerJoin(subscriptions, eq(subscriptions.id, subscription_deliveries.subscription_id))
    .where(and(eq(subscription_deliveries.id, delivery_id), eq(subscriptions.id, subscription_id)));
  return found;
}

async function markFailed(ctx: Context, delivery_id: string, last_error: string): Promise<void> {
  await ctx.db
    .update(subscription_deliveries)
    .set({ status: "failed", last_error })
    .where(and(eq(subscription_deliveries.id, delivery_id), eq(subscription_deliveries.status, "pending")));
}

async function recordAttempt(
  ctx: Context,
  { delivery, subscription }: Found,
  attempt: Attempt,
  status: DeliveryRow["status"],
): Promise<void> {
  await ctx.db
    .update(subscription_deliveries)
    .set({
      status,
      attempts: sql`${subscription_deliveries.attempts} + 1`,
      last_attempt_at: attempt.sent_at,
      delivered_at: status === "delivered" ? ctx.now() : null,
      last_error: attempt.error,
      request_headers: attempt.headers,
      response_status: attempt.status,
      response_body: attempt.response,
      response_ms: attempt.duration_ms,
    })
    // Only the worker that holds the job stores a final status. A failed attempt may end after another worker has taken the job
    // over and ended the delivery. It must then not set the status to `pending` again.
    .where(
      and(
        eq(subscription_deliveries.id, delivery.id),
        status === "pending" ? and(ne(subscription_deliveries.status, "delivered"), hasOpenJob) : undefined,
      ),
    );
  // A `delivery.dead` event that is not delivered causes no alert. Otherwise two subscriptions whose receivers are down would cause
  // events for each other without end.
  const isAlert = status === "failed" && delivery.event_type !== "delivery.dead";
  if (isAlert) await storeAlerts(ctx, [deadDeliveryAlert(ctx, subscription)]);
  await recordHealth(ctx, subscription, attempt);
}

const deadDeliveryAlert = (ctx: Context, { id, organization_id, board_id }: SubscriptionRow): Alert => ({
  type: "delivery.dead",
  organization_id,
  board_id,
  task_id: null,
  subject_id: id,
  key: dailyKey(ctx, "delivery.dead", id),
  actor: authorOf(ctx.actor),
});

/**
 * Updates the receiver's health if the attempt changes it. Switches off a receiver that no longer exists or has failed for days.
 */
async function recordHealth(ctx: Context, subscription: SubscriptionRow, attempt: Attempt): Promise<void> {
  const { failing_since: since, url, url_sealed } = subscription;
  const failing_since = attempt.error === null ? null : (since ?? attempt.sent_at);
  const throttled = attempt.error !== null || attempt.duration_ms > SLOW_MS;
  const reason = disabledReason(attempt, failing_since);
  const isNew = throttled !== subscription.throttled || (failing_since === null) !== (since === null) || reason !== null;
  if (!isNew) return;
  const [changed] = await ctx.db
    .update(subscriptions)
    .set({
      failing_since,
      throttled,
      ...(reason === null ? {} : { active: false, disabled_reason: reason }),
      updated_at: reason === null ? sql`${subscriptions.updated_at}` : sql`now()`,
    })
    // Skips a subscription that was changed or switched off since the attempt, because the attempt may have been made with the old
    // receiver.
    .where(
      and(
        eq(subscriptions.id, subscription.id),
        eq(subscriptions.url, url),
        sql`${subscriptions.url_sealed} is not distinct from ${sql.param(url_sealed, subscriptions.url_sealed)}`,
        eq(subscriptions.active, true),
      ),
    )
    .returning({ id: subscriptions.id });
  if (!changed) return;
  if (reason !== null) await recordDisabled(ctx, subscription, reason);
  if (subscription.throttled && !throttled) await wakeHeldDeliveries(ctx, subscription.id);
}

function disabledReason({ is_gone, error, sent_at }: Attempt, failing_since: Date | null): string | null {
  if (is_gone) return "The receiver answered 410 Gone.";
  const isTooLong = failing_since !== null && sent_at.getTime() - failing_since.getTime() >= MAX_FAILING_MS;
  return isTooLong ? `Every attempt of the last five days failed. Last error: ${error}` : null;
}

async function recordDisabled(ctx: Context, { organization_id, board_id, url }: SubscriptionRow, reason: string): Promise<void> {
  const message = `Subscription to ${new URL(url).hostname} was switched off. ${reason}`;
  await recordLateEvent(ctx, "subscription.disabled", { organization_id, board_id, message });
  ctx.log.warn("subscription.disabled", "A subscription was switched off", { reason });
}

/** Wakes deliveries that had to wait for each other while the receiver was slow. */
async function wakeHeldDeliveries(ctx: Context, subscription_id: string): Promise<void> {
  const isHeld = and(eq(jobs.subscription_id, subscription_id), eq(jobs.status, "queued"), eq(jobs.held_by, "subscription"));
  const held = ctx.db.select({ id: jobs.id }).from(jobs).where(isHeld).orderBy(jobs.seq).limit(WAKE_UPS);
  const woken = await ctx.db
    .update(jobs)
    .set({ run_at: ctx.now(), sent_at: null, held_by: null })
    .where(sql`${jobs.id} in (${held.for("no key update", { skipLocked: true })})`)
    .returning({ id: jobs.id, lane: jobs.lane });
  for (const job of woken) addPendingWakeup(ctx.pendingWakeups, job);
}
