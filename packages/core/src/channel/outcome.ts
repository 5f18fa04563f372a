import { and, inArray, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { enqueueAll } from "../job/job.ts";
import { channel_deliveries, channels } from "../schema/channel.sql.ts";
import { addMs, DAY_MS } from "../values/time.ts";
import type { ChannelKind, Due, Sender, SendWrite } from "./kind.ts";
import { dueJob, laterDueJob, onePerMinute } from "./schedule.ts";

const MAX_FAILING_MS = 5 * DAY_MS;

/** The result of trying to send a message. */
export interface Outcome {
  message: readonly Due[];
  error: string | null;
  /** Null if the message is not sent again. */
  retry_at: Date | null;
  /** Until when the channel of the message waits; null if the message was accepted. */
  wait_until: Date | null;
  write: SendWrite | null;
}

/** Deliveries that wait until a time without being tried. */
export interface Postponed {
  ids: readonly string[];
  until: Date;
}

interface Batch {
  outcomes: readonly Outcome[];
  dropped: readonly string[];
  left: readonly string[];
  postponed: readonly Postponed[];
  stopped: { failure: string; until: Date } | null;
  is_full: boolean;
}

interface Sending {
  kind: ChannelKind;
  sender: Sender;
  organization_id: string;
}

const isOneOf = (ids: readonly string[]) => inArray(channel_deliveries.id, [...ids]);

/**
 * Stores the results of a job that sent messages, and enqueues the next job: at once if more messages are due, later for messages
 * that are tried again.
 */
export async function storeOutcomes(ctx: Context, { kind, sender, organization_id }: Sending, batch: Batch): Promise<void> {
  const { outcomes, dropped, left, postponed, stopped, is_full } = batch;
  if (dropped.length > 0) await ctx.db.update(channel_deliveries).set({ status: "dropped" }).where(isOneOf(dropped));
  if (left.length > 0) await ctx.db.update(channel_deliveries).set({ claimed_until: null }).where(isOneOf(left));
  for (const [due, same] of Map.groupBy(postponed, ({ until }) => until.getTime()))
    await ctx.db
      .update(channel_deliveries)
      .set({ due_at: new Date(due), claimed_until: null })
      .where(isOneOf(same.flatMap(({ ids }) => ids)));
  const results = Map.groupBy(
    outcomes,
    ({ error, retry_at, wait_until }) => `${retry_at?.getTime()} ${wait_until?.getTime()} ${error}`,
  );
  for (const same of results.values()) await storeResult(ctx, same);
  for (const { write } of outcomes) await write?.(ctx);
  if (stopped) await sender.onStopped?.(ctx, stopped.failure, stopped.until);
  const isMore = stopped === null && (is_full || left.length > 0);
  const later = [
    ...outcomes.flatMap(({ wait_until }) => wait_until ?? []),
    ...postponed.map(({ until }) => until),
    ...(stopped ? [stopped.until] : []),
  ];
  const jobs = later.map((due_at) => laterDueJob(kind, organization_id, due_at));
  await enqueueAll(ctx, [...(isMore ? [dueJob(kind, organization_id)] : []), ...onePerMinute(jobs)]);
}

/** Stores the results of messages that ended in the same way. */
async function storeResult(ctx: Context, outcomes: readonly Outcome[]): Promise<void> {
  const { error, retry_at, wait_until } = outcomes[0]!;
  const isSent = error === null;
  const messages = outcomes.map(({ message }) => message);
  await ctx.db
    .update(channel_deliveries)
    .set({
      status: isSent ? "sent" : retry_at === null ? "failed" : "pending",
      attempts: sql`${channel_deliveries.attempts} + 1`,
      last_error: error,
      claimed_until: null,
      ...(isSent ? { sent_at: ctx.now() } : {}),
      ...(retry_at ? { due_at: retry_at } : {}),
    })
    .where(isOneOf(messages.flat().map(({ delivery_id }) => delivery_id)));
  const channel_ids = [...new Set(messages.map(([first]) => first!.channel.id))];
  await storeHealth(ctx, channel_ids, error, wait_until);
}

/** Stores whether channels work. A channel on which every attempt has failed for five days is switched off, with the reason. */
async function storeHealth(
  ctx: Context,
  channel_ids: readonly string[],
  error: string | null,
  wait_until: Date | null,
): Promise<void> {
  const now = ctx.now();
  const areOwn = and(inArray(channels.id, [...channel_ids]), channels.active);
  if (error === null) {
    await ctx.db.update(channels).set({ failing_since: null, retry_at: null, last_error: null, last_sent_at: now }).where(areOwn);
    return;
  }
  const since = sql`coalesce(${channels.failing_since}, ${now.toISOString()}::timestamptz)`;
  const isOver = sql`${since} <= ${addMs(now, -MAX_FAILING_MS).toISOString()}::timestamptz`;
  await ctx.db
    .update(channels)
    .set({
      failing_since: since,
      retry_at: wait_until,
      last_error: error,
      active: sql`not (${isOver})`,
      disabled_reason: sql`case when ${isOver} then ${`Every attempt of the last five days failed. Last error: ${error}`}::text end`,
    })
    .where(areOwn);
}
