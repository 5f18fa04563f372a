import { sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { jobs } from "../schema/job.sql.ts";
import { board_webhook_payloads } from "../schema/webhook.sql.ts";
import { DomainError } from "../values/errors.ts";
import { usedUp } from "../values/request-limits.ts";
import { payloadBytes, removePayloads } from "./payload-usage.ts";
import { SIGNED_SHARE, UNSIGNED_ROOM, UNSIGNED_SHARE } from "./payload-shares.ts";

/** The wait before a retry, in seconds. Old payloads are removed once an hour by schedule. */
const RETRY_AFTER = 3_600;
/**
 * The part of its share that a full webhook frees at once. This is more than one post needs, so that not every post has to make
 * room.
 */
const FREED_PART = 1 / 16;
/** How many of the oldest payloads one post checks. Payloads whose notification is still to be sent are not removed. */
const MAX_OLDEST = 1_000;

interface WebhookRoom {
  id: string;
  board_id: string;
  /** Null if the webhook accepts unsigned posts. */
  secret_sealed: Uint8Array | null;
  /** The stored bytes of the organization. The next field has the stored bytes of the webhook. */
  stored_bytes: string;
  webhook_bytes: string;
}

/**
 * Throws `limited` if the organization, or a webhook with a secret, has filled its room. In these cases, no old payloads are
 * removed to make room.
 */
export function requirePayloadRoom(ctx: Context, webhook: WebhookRoom): void {
  const limit = ctx.settings.budgets.organization_payload_bytes;
  if (limit === 0) return;
  if (Number(webhook.stored_bytes) >= limit)
    throw noRoom(
      "The organization has no room for more webhook payloads. Remove webhooks or wait until old payloads expire.",
      limit,
    );
  const share = Math.floor(limit * SIGNED_SHARE);
  if (webhook.secret_sealed && Number(webhook.webhook_bytes) >= share)
    throw noRoom("The webhook has no room for more payloads. Wait until old payloads expire.", share);
}

/**
 * Makes room for a payload if an unsigned webhook has filled its share. It removes the webhook's oldest payloads, except those
 * whose notification is still to be sent. Throws `limited` if the removal does not free enough.
 */
export async function makePayloadRoom(ctx: Context, webhook: WebhookRoom, size_bytes: number): Promise<void> {
  const limit = ctx.settings.budgets.organization_payload_bytes;
  if (limit === 0 || webhook.secret_sealed) return;
  const share = Math.floor(limit * UNSIGNED_SHARE);
  const excess = Math.max(Number(webhook.webhook_bytes) - share, Number(webhook.stored_bytes) - limit * UNSIGNED_ROOM);
  if (excess < 0) return;
  const freed = await removeOldest(ctx, webhook, Math.max(excess, size_bytes) + Math.floor(share * FREED_PART));
  if (freed > excess || freed >= size_bytes) return;
  throw noRoom(
    "There is no room for more payloads of webhooks without a secret. Give this one a secret, or wait until agents were notified of its payloads or old ones expire.",
    share,
  );
}

/** Removes the oldest payloads until `bytes` are freed. Returns how many bytes were freed. */
async function removeOldest(ctx: Context, { id, board_id }: WebhookRoom, bytes: number): Promise<number> {
  const oldest = sql`
    select id, received_at, notify_job_id, ${payloadBytes} as bytes from ${board_webhook_payloads}
    where webhook_id = ${id} and board_id = ${board_id} order by received_at, id limit ${MAX_OLDEST} for update skip locked`;
  const { freed } = await removePayloads<{ freed: string }>(
    ctx,
    sql`id = any (array(
      select id from (
        select id, sum(bytes) over (order by received_at, id) - bytes as freed_before from (${oldest}) as oldest
        where not exists (
          select from ${jobs} as job where job.id = oldest.notify_job_id and job.status in ('queued', 'running'))) as candidate
      where freed_before < ${bytes}))`,
    sql`coalesce(sum(bytes), 0)::text as freed`,
  );
  return Number(freed);
}

const noRoom = (message: string, limit: number): DomainError =>
  new DomainError("limited", message, {
    retry_after_seconds: RETRY_AFTER,
    limit: usedUp("organization_payload_bytes", limit, RETRY_AFTER, "content-bytes"),
  });
