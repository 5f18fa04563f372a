import { and, eq, getTableColumns, sql } from "drizzle-orm";
import * as z from "zod";
import { type BoardRow, boardFor } from "../organization/access.ts";
import type { Agent, User } from "../context/actor.ts";
import { agents } from "../schema/agent.sql.ts";
import { changedFields, isEmpty } from "../values/changed-fields.ts";
import { actingAs, actingFor } from "../db/change-actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { withLockTimeoutRetry } from "../db/retry-transaction.ts";
import { DomainError, notFound } from "../values/errors.ts";
import { newestFirst } from "../lists/keyset.ts";
import { largeText, truncatable } from "../lists/large-fields.ts";
import type { Page, PageQuery } from "../lists/page.ts";
import type { Settings } from "../config/settings.ts";
import { TextOrNull, Id, Instant, MAX_NAME, MAX_SECRET, NonEmpty, valueError, lazyObject } from "../values/wire.ts";
import { removePayloads } from "./payload-usage.ts";
import { changeSecret, endOverlap, sealSecret } from "../db/rotated-secret.ts";
import { SOURCES } from "./source/sources.ts";
import { board_webhooks, SOURCE_NAMES } from "../schema/webhook.sql.ts";
import { listOf } from "../lists/list.ts";
import { filterBy } from "../lists/filter.ts";
import { recordAudit } from "../audit/record.ts";

type WebhookRow = typeof board_webhooks.$inferSelect;

const MAX_DESCRIPTION = 10_000;
const MAX_EVENT_TYPES = 100;
const HTTP_TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

export const Webhook = lazyObject(() => ({
  id: Id.describe("Id of the webhook."),
  board_id: Id.describe("Board that receives the payloads."),
  agent_id: Id.nullable().describe("Agent to notify; null for the board's lead."),
  description: z.string().describe("What the agent should do with a payload."),
  enabled: z.boolean().describe("Whether the webhook accepts requests."),
  endpoint_path: z.string().describe("Path to post to."),
  endpoint_url: z.string().nullable().describe("Full URL to post to; null while BASE_URL is not set."),
  source: z.enum(SOURCE_NAMES).describe("The kind of sender, which decides how requests are signed and how events are named."),
  event_types: z.array(z.string()).nullable().describe("Events that the agent is notified of; null for all."),
  has_secret: z.boolean().describe("Whether requests must be signed."),
  previous_secret_until: Instant.nullable().describe(
    "Until when the previous secret is still accepted; null if only the current one is.",
  ),
  signature_header: z
    .string()
    .nullable()
    .describe("Header of the signature for `generic`; null for X-Hub-Signature-256 or X-Webhook-Signature."),
  created_at: Instant.describe("When the webhook was created."),
  updated_at: Instant.describe("When the webhook last changed."),
  ...truncatable,
})).meta({ id: "BoardWebhook", description: "A public URL through which an external system notifies an agent." });
export type Webhook = z.infer<typeof Webhook>;

const Fields = lazyObject(() => ({
  description: NonEmpty(MAX_DESCRIPTION).describe("What the agent should do with a payload; sent with every notification."),
  enabled: z.boolean().describe("Whether the webhook accepts requests."),
  agent_id: Id.nullable().describe("Agent of the board to notify; null for the lead."),
  source: z
    .enum(SOURCE_NAMES)
    .describe("The kind of sender, which decides how requests are signed and how events are named; `generic` for any other."),
  event_types: z
    .array(NonEmpty(MAX_NAME))
    .max(MAX_EVENT_TYPES)
    .transform((patterns) => (patterns.length === 0 ? null : patterns))
    .nullable()
    .describe("Events to notify the agent of, such as `issues.*`; others are only stored. Null or empty for all."),
  secret: TextOrNull(MAX_SECRET).describe("The sender's secret for signatures; blank when requests need no signature."),
  signature_header: TextOrNull(MAX_NAME)
    .refine((name) => name === null || HTTP_TOKEN.test(name), valueError("signature_header must be an HTTP header name"))
    .describe("Header that holds the signature; only `generic` uses it."),
}));

export const CreateWebhook = lazyObject(() => ({
  ...Fields.shape,
  enabled: Fields.shape.enabled.default(true),
  agent_id: Fields.shape.agent_id.default(null),
  source: Fields.shape.source.default("generic"),
  event_types: Fields.shape.event_types.default(null),
  secret: Fields.shape.secret.default(null),
  signature_header: Fields.shape.signature_header.default(null),
})).meta({ id: "BoardWebhookCreate" });
export type CreateWebhook = z.infer<typeof CreateWebhook>;

export const UpdateWebhook = lazyObject(
  () =>
    Fields.extend({
      previous_secret: z.null().describe("Null ends the 24 hours in which the previous secret is still accepted."),
    }).partial().shape,
).meta({ id: "BoardWebhookUpdate" });
export type UpdateWebhook = z.infer<typeof UpdateWebhook>;

const webhookList = listOf({
  name: "webhooks",
  table: board_webhooks,
  columns: getTableColumns(board_webhooks),
  large: { description: largeText },
  order: newestFirst(board_webhooks),
});

/**
 * Lists the webhooks of a board, newest first. Requires write access, because anyone who knows their URLs can post to the board.
 */
export async function listWebhooks(ctx: Context<User>, board_id: string, query: PageQuery): Promise<Page<Webhook>> {
  const board = await boardFor(ctx, board_id, "write");
  return webhookList.read(ctx, query, {
    owner: board.id,
    filters: [filterBy("board_id", board.id, (id) => eq(board_webhooks.board_id, id))],
    toItem: (row) => toWebhook(ctx.settings, row),
  });
}

export async function getWebhook(
  ctx: Context<User | Agent>,
  board_id: string,
  webhook_id: string,
  need: "read" | "write",
): Promise<Webhook> {
  const board = await boardFor(ctx, board_id, need);
  return toWebhook(ctx.settings, await getWebhookRow(ctx, board, webhook_id));
}

export async function createWebhook(ctx: Context<User>, board_id: string, input: CreateWebhook): Promise<Webhook> {
  const board = await boardFor(ctx, board_id, "write");
  await requireAgentOfBoard(ctx, board, input.agent_id);
  requireNamedEvents(input);
  const { secret, ...values } = input;
  return transaction(ctx, async (ctx) => {
    const [row] = await ctx.db
      .insert(board_webhooks)
      .values({ ...values, board_id: actingFor(ctx, board.id), secret_sealed: secret === null ? null : sealSecret(ctx, secret) })
      .returning();
    await recordWebhookAudit(ctx, "webhook.created", board, null, row!);
    return toWebhook(ctx.settings, row!);
  });
}

export function updateWebhook(ctx: Context<User>, board_id: string, webhook_id: string, input: UpdateWebhook): Promise<Webhook> {
  return transaction(ctx, async (ctx) => {
    const board = await boardFor(ctx, board_id, "write");
    const where = and(eq(board_webhooks.id, webhook_id), eq(board_webhooks.board_id, board.id));
    const [stored] = await ctx.db.select().from(board_webhooks).where(where).for("update");
    if (!stored) throw notFound();
    const { secret, previous_secret, ...sent } = input;
    const changes = changedFields(stored, sent);
    if (changes.agent_id) await requireAgentOfBoard(ctx, board, changes.agent_id);
    requireNamedEvents({ ...stored, ...changes });
    if (secret !== undefined) Object.assign(changes, changeSecret(ctx, stored, secret));
    if (previous_secret === null) Object.assign(changes, endOverlap({ ...stored, ...changes }));
    if (isEmpty(changes)) return toWebhook(ctx.settings, stored);
    const [row] = await ctx.db
      .update(board_webhooks)
      .set(changes)
      .where(and(where, actingAs(ctx)))
      .returning();
    await recordWebhookAudit(ctx, "webhook.updated", board, stored, row!);
    return toWebhook(ctx.settings, row!);
  });
}

/** Removes the webhook and its payloads. Memory entries are kept, and pending notifications are not sent. */
export async function removeWebhook(ctx: Context<User>, board_id: string, webhook_id: string): Promise<void> {
  const board = await boardFor(ctx, board_id, "write");
  await withLockTimeoutRetry(ctx, async (ctx) => {
    // Payloads are removed first, because the cascade of the webhook would not subtract their bytes.
    await removePayloads(ctx, sql`webhook_id = ${webhook_id} and board_id = ${board.id}`, sql`count(*)`);
    const [removed] = await ctx.db
      .delete(board_webhooks)
      .where(and(eq(board_webhooks.id, webhook_id), eq(board_webhooks.board_id, board.id)))
      .returning();
    if (!removed) throw notFound();
    await recordWebhookAudit(ctx, "webhook.removed", board, removed, null);
  });
}

type WebhookAction = "webhook.created" | "webhook.updated" | "webhook.removed";

function recordWebhookAudit(
  ctx: Context,
  action: WebhookAction,
  { organization_id }: BoardRow,
  before: WebhookRow | null,
  after: WebhookRow | null,
): Promise<void> {
  const { id, description: name } = (after ?? before)!;
  return recordAudit(ctx, action, { organization_id, target: { id, name }, before, after });
}

export async function getWebhookRow(ctx: Context, board: BoardRow, webhook_id: string): Promise<WebhookRow> {
  const [row] = await ctx.db
    .select()
    .from(board_webhooks)
    .where(and(eq(board_webhooks.id, webhook_id), eq(board_webhooks.board_id, board.id)));
  if (!row) throw notFound();
  return row;
}

async function requireAgentOfBoard(ctx: Context, board: BoardRow, agent_id: string | null): Promise<void> {
  if (!agent_id) return;
  const [agent] = await ctx.db
    .select({ id: agents.id })
    .from(agents)
    .where(and(eq(agents.id, agent_id), eq(agents.board_id, board.id)));
  if (!agent) throw new DomainError("invalid", "agent_id must reference an agent on this board.");
}

/** Throws `invalid` for `event_types` if the source has no event names, because such a webhook would never notify an agent. */
function requireNamedEvents({ source, event_types }: Pick<WebhookRow, "source" | "event_types">): void {
  if (event_types === null || SOURCES[source].eventType) return;
  throw new DomainError(
    "invalid",
    "event_types needs a source that names its events. Set source to the sender or event_types to null.",
  );
}

function toWebhook(settings: Settings, row: WebhookRow): Webhook {
  const { id, board_id, agent_id, description, enabled, source, event_types, signature_header } = row;
  const endpoint_path = `/api/v1/boards/${board_id}/webhooks/${id}`;
  return {
    id,
    board_id,
    agent_id,
    description,
    enabled,
    endpoint_path,
    endpoint_url: settings.base_url === null ? null : settings.base_url + endpoint_path,
    source,
    event_types,
    has_secret: row.secret_sealed !== null,
    previous_secret_until: row.previous_secret_until?.toISOString() ?? null,
    signature_header,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
