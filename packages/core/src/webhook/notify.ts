import { and, eq, sql } from "drizzle-orm";
import { recordEvent } from "../activity/activity.ts";
import { agents } from "../schema/agent.sql.ts";
import { boards } from "../schema/board.sql.ts";
import type { Context } from "../context/context.ts";
import type { JobHandler } from "../job/handler.ts";
import { gateways } from "../schema/gateway.sql.ts";
import { insertInboxMessages, type NewInboxMessage } from "../notification/inbox-message.ts";
import { messageKind } from "../notification/message-kind.ts";
import type { SendToSession } from "../context/session-message.ts";
import type { JobPayloads } from "../job/kinds.ts";
import { readBody } from "../body-storage/body.ts";
import { readableText } from "./event.ts";
import { notificationText } from "./message.ts";
import { bodyText } from "./payload.ts";
import { isTargetCandidate, targetFirst } from "./target.ts";
import { board_webhook_payloads, board_webhooks } from "../schema/webhook.sql.ts";
import { preparedQuery } from "../db/prepared.ts";
import { runWrite } from "../db/prepared-write.ts";

type Notification = JobPayloads["webhook.notify"];

/**
 * Notifies the target agent about a payload. The target is chosen when the job runs, since agents may have moved after the post.
 * If the webhook, board or agent no longer exists, the job ends without an error. Every failure of the host is retried.
 */
export const notifyWebhook = (sendToSession: SendToSession): JobHandler<"webhook.notify"> => ({
  async run(ctx, notification, job) {
    const found = await findNotification(ctx, notification);
    if (!found?.target) return { result: { agent_id: null } };
    const { payload, gateway, target } = found;
    const result = { agent_id: target.id };
    if (gateway.kind !== "pull" && !target.openclaw_session_id) return { result: { agent_id: null } };
    const message = toMessage(found, bodyText({ body: await readBody(ctx, payload) }));
    // A pull gateway has no host. Its boards still have such jobs if they had another gateway before, or after a redelivery.
    if (gateway.kind === "pull" || !target.openclaw_session_id)
      return { result, write: (ctx) => runWrite(ctx, insertInboxMessages([toInbox(found, target, message)])) };
    const { payload_id, redelivery } = notification;
    const key = `webhook-${payload_id}-${target.id}`;
    await sendToSession(ctx, gateway, {
      session_key: target.openclaw_session_id,
      label: target.name,
      message,
      deliver: false,
      idempotency_key: redelivery ? `${key}-${job.id}` : key,
    });
    // The two times may come from different machines, so their difference can be negative.
    if (!redelivery) ctx.meter.record("IngestLag", Math.max(0, ctx.now().getTime() - payload.received_at.getTime()));
    return { result };
  },

  async onDead(ctx, notification, reason) {
    const found = await findNotification(ctx, notification);
    if (!found) return;
    const { target } = found;
    // This code runs in a transaction, and the external body storage must not be called during a transaction.
    const { body } = found.payload;
    const message = toMessage(found, body ? bodyText({ body }) : MOVED_BODY);
    if (target) await runWrite(ctx, insertInboxMessages([toInbox(found, target, message)]));
    await recordEvent(ctx, "webhook.notify_failed", {
      organization_id: found.board.organization_id,
      board_id: found.board.id,
      agent_id: target?.id ?? null,
      message: `Webhook notification failed for payload ${notification.payload_id}: ${reason}`,
    });
  },
});

type Found = NonNullable<Awaited<ReturnType<typeof findNotification>>>;

/** The text that replaces a missing preview. The message also contains the path of the payload. */
const MOVED_BODY = "(The payload is in another storage and has no preview.)";

const toMessage = ({ board, webhook, payload }: Found, text: string): string =>
  notificationText({
    board_id: board.id,
    webhook_id: webhook.id,
    payload_id: payload.id,
    board_name: board.name,
    instruction: webhook.description,
    summary: payload.summary,
    text: readableText(webhook.source, payload.content_type, text),
  });

function toInbox(found: Found, { id: agent_id }: { id: string }, message: string): NewInboxMessage {
  const { id: board_id, organization_id } = found.board;
  return { organization_id, board_id, agent_id, kind: messageKind({ message }), text: message, task_id: null };
}

async function findNotification(ctx: Context, { board_id, webhook_id, payload_id }: Notification) {
  const [found] = await selectNotification(ctx.db).execute({ board_id, webhook_id, payload_id });
  return found;
}

const selectNotification = preparedQuery((db) =>
  db
    .select({
      board: boards,
      webhook: board_webhooks,
      payload: board_webhook_payloads,
      gateway: gateways,
      target: { id: agents.id, name: agents.name, openclaw_session_id: agents.openclaw_session_id },
    })
    .from(board_webhook_payloads)
    .innerJoin(board_webhooks, eq(board_webhooks.id, board_webhook_payloads.webhook_id))
    .innerJoin(boards, eq(boards.id, board_webhooks.board_id))
    .innerJoin(gateways, and(eq(gateways.id, boards.gateway_id), eq(gateways.organization_id, boards.organization_id)))
    .leftJoin(
      agents,
      sql`${agents.id} = (select ${agents.id} from ${agents} where ${isTargetCandidate} order by ${targetFirst} limit 1)`,
    )
    .where(
      and(
        eq(board_webhook_payloads.id, sql.placeholder("payload_id")),
        eq(board_webhooks.id, sql.placeholder("webhook_id")),
        eq(boards.id, sql.placeholder("board_id")),
      ),
    ),
);
