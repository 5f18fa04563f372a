import { and, desc, eq, getTableColumns, sql } from "drizzle-orm";
import * as z from "zod";
import { type BoardRow, boardFor } from "../access.ts";
import type { Agent, User } from "../actor.ts";
import { agents } from "../agent/agent.sql.ts";
import { changedFields, isEmpty } from "../changed-fields.ts";
import { type Context, transaction } from "../context.ts";
import { withLockTimeoutRetry } from "../db/retry-transaction.ts";
import { DomainError, notFound } from "../errors.ts";
import { largeText, truncatable } from "../large-fields.ts";
import { type Page, type PageQuery, readShortenedPage } from "../page.ts";
import { seal, unseal } from "../seal.ts";
import type { Settings } from "../settings.ts";
import { TextOrNull, Id, Instant, MAX_NAME, MAX_SECRET, NonEmpty, valueError } from "../wire.ts";
import { removePayloads } from "./payload-usage.ts";
import { board_webhooks } from "./webhook.sql.ts";

export type WebhookRow = typeof board_webhooks.$inferSelect;

const MAX_DESCRIPTION = 10_000;
const HTTP_TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

export const Webhook = z
  .object({
    id: Id.describe("Id of the webhook."),
    board_id: Id.describe("Board that receives the payloads."),
    agent_id: Id.nullable().describe("Agent to notify; null for the board's lead."),
    description: z.string().describe("What the agent should do with a payload."),
    enabled: z.boolean().describe("Whether the webhook accepts requests."),
    endpoint_path: z.string().describe("Path to post to."),
    endpoint_url: z.string().nullable().describe("Full URL to post to; null while BASE_URL is not set."),
    has_secret: z.boolean().describe("Whether requests must be signed."),
    signature_header: z
      .string()
      .nullable()
      .describe("Header that holds the signature; null for X-Hub-Signature-256 or X-Webhook-Signature."),
    created_at: Instant.describe("When the webhook was created."),
    updated_at: Instant.describe("When the webhook last changed."),
    ...truncatable,
  })
  .meta({ id: "BoardWebhook", description: "A public URL through which an external system notifies an agent." });
export type Webhook = z.infer<typeof Webhook>;

const fields = {
  description: NonEmpty(MAX_DESCRIPTION).describe("What the agent should do with a payload; sent with every notification."),
  enabled: z.boolean().describe("Whether the webhook accepts requests."),
  agent_id: Id.nullable().describe("Agent of the board to notify; null for the lead."),
  secret: TextOrNull(MAX_SECRET).describe("Key of the HMAC-SHA256 signature; blank when requests need no signature."),
  signature_header: TextOrNull(MAX_NAME)
    .refine((name) => name === null || HTTP_TOKEN.test(name), valueError("signature_header must be an HTTP header name"))
    .describe("Header that holds the signature."),
};

export const CreateWebhook = z
  .object({
    ...fields,
    enabled: fields.enabled.default(true),
    agent_id: fields.agent_id.default(null),
    secret: fields.secret.default(null),
    signature_header: fields.signature_header.default(null),
  })
  .meta({ id: "BoardWebhookCreate" });
export type CreateWebhook = z.infer<typeof CreateWebhook>;

export const UpdateWebhook = z.object(fields).partial().meta({ id: "BoardWebhookUpdate" });
export type UpdateWebhook = z.infer<typeof UpdateWebhook>;

/** The webhooks of a board, newest first. Requires write access, since their URLs allow posting to the board. */
export async function listWebhooks(ctx: Context<User>, board_id: string, query: PageQuery): Promise<Page<Webhook>> {
  const board = await boardFor(ctx, board_id, "write");
  const where = eq(board_webhooks.board_id, board.id);
  const total = ctx.db.$count(board_webhooks, where);
  return readShortenedPage(
    ctx,
    query,
    {
      columns: getTableColumns(board_webhooks),
      large: { description: largeText },
      total,
      select: (columns, limit, offset) =>
        ctx.db
          .select(columns)
          .from(board_webhooks)
          .where(where)
          .orderBy(desc(board_webhooks.created_at), desc(board_webhooks.id))
          .limit(limit)
          .offset(offset),
    },
    (row) => toWebhook(ctx.settings, row),
  );
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
  const { secret, ...values } = input;
  const [row] = await ctx.db
    .insert(board_webhooks)
    .values({ ...values, board_id: board.id, secret_sealed: sealSecret(ctx, secret) })
    .returning();
  return toWebhook(ctx.settings, row!);
}

export function updateWebhook(ctx: Context<User>, board_id: string, webhook_id: string, input: UpdateWebhook): Promise<Webhook> {
  return transaction(ctx, async (ctx) => {
    const board = await boardFor(ctx, board_id, "write");
    const where = and(eq(board_webhooks.id, webhook_id), eq(board_webhooks.board_id, board.id));
    const [stored] = await ctx.db.select().from(board_webhooks).where(where).for("update");
    if (!stored) throw notFound();
    const { secret, ...sent } = input;
    const changes = changedFields(stored, sent);
    if (changes.agent_id) await requireAgentOfBoard(ctx, board, changes.agent_id);
    if (secret !== undefined && secret !== unsealSecret(ctx, stored)) changes.secret_sealed = sealSecret(ctx, secret);
    if (isEmpty(changes)) return toWebhook(ctx.settings, stored);
    const [row] = await ctx.db.update(board_webhooks).set(changes).where(where).returning();
    return toWebhook(ctx.settings, row!);
  });
}

/** Removes the webhook and its payloads. Memory entries stay, and pending notifications end silently. */
export async function removeWebhook(ctx: Context<User>, board_id: string, webhook_id: string): Promise<void> {
  const board = await boardFor(ctx, board_id, "write");
  await withLockTimeoutRetry(ctx, async (ctx) => {
    // Before the webhook, whose removal would remove the payloads without subtracting their bytes.
    await removePayloads(ctx, sql`webhook_id = ${webhook_id} and board_id = ${board.id}`, sql`count(*)`);
    const removed = await ctx.db
      .delete(board_webhooks)
      .where(and(eq(board_webhooks.id, webhook_id), eq(board_webhooks.board_id, board.id)))
      .returning({ id: board_webhooks.id });
    if (removed.length === 0) throw notFound();
  });
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

const sealSecret = (ctx: Context, secret: string | null) => (secret === null ? null : seal(ctx.settings.encryption_key, secret));

export const unsealSecret = (ctx: Context, row: Pick<WebhookRow, "secret_sealed">): string | null =>
  row.secret_sealed ? unseal(ctx.settings.encryption_key, row.secret_sealed) : null;

function toWebhook(settings: Settings, row: WebhookRow): Webhook {
  const { id, board_id, agent_id, description, enabled, signature_header } = row;
  const endpoint_path = `/api/v1/boards/${board_id}/webhooks/${id}`;
  return {
    id,
    board_id,
    agent_id,
    description,
    enabled,
    endpoint_path,
    endpoint_url: settings.base_url === null ? null : settings.base_url + endpoint_path,
    has_secret: row.secret_sealed !== null,
    signature_header,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
