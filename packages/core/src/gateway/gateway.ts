import { and, desc, eq, or } from "drizzle-orm";
import * as z from "zod";
import { type Admin, mainSessionKey } from "../actor.ts";
import { createMainAgent, removeMainAgent, updateMainAgent } from "../agent/main-agent.ts";
import { agents } from "../agent/agent.sql.ts";
import { boards } from "../board/board.sql.ts";
import { changesOf, isEmpty } from "../change.ts";
import { type Context, transaction } from "../context.ts";
import { transactionGivingWay } from "../db/giving-way.ts";
import { DomainError, notFound } from "../errors.ts";
import { type Page, type PageQuery, readPage } from "../page.ts";
import { Blankable, Id, Instant, Integer, MAX_NAME, MAX_SECRET, MAX_URL, NonEmpty, rule } from "../wire.ts";
import { gateways } from "./gateway.sql.ts";
import { firstSyncDue } from "./sync-due.ts";
import { maskToken } from "./mask.ts";
import { probeGateway, type Reach, recordFlip } from "./reach.ts";
import { type GatewayRow, openToken, sealToken } from "./target.ts";
import { isGatewayUrl } from "./url.ts";

export const Gateway = z
  .object({
    id: Id.describe("Id of the gateway."),
    organization_id: Id.describe("Organization that the gateway belongs to."),
    name: z.string().describe("Name people read."),
    url: z.string().describe("Address of the host's WebSocket."),
    workspace_root: z.string().describe("Folder on the host that holds the agents' workspaces."),
    disable_device_pairing: z.boolean().describe("Connect as control UI, without a device identity."),
    allow_insecure_tls: z.boolean().describe("Accept any certificate of a wss host."),
    token: z.string().nullable().describe("The gateway token, masked: stars and its last four characters."),
    has_token: z.boolean().describe("Whether a token is stored."),
    version: z.string().nullable().describe("Version the host last reported."),
    connected: z.boolean().describe("Whether the last call reached the host."),
    last_error: z.string().nullable().describe("Why not, or a warning."),
    sync_interval_minutes: z.int().nullable().describe("How often the templates are synced by themselves; null is never."),
    created_at: Instant.describe("When the gateway was registered."),
    updated_at: Instant.describe("When it last changed."),
  })
  .meta({ id: "Gateway", description: "An OpenClaw host that runs agents." });
export type Gateway = z.infer<typeof Gateway>;

const MIN_SYNC_MINUTES = 5;
const MAX_SYNC_MINUTES = 525_600;

const fields = {
  name: NonEmpty(MAX_NAME).describe("Name people read."),
  url: NonEmpty(MAX_URL)
    .refine(isGatewayUrl, rule("url must be ws, wss, http or https with a host"))
    .describe("Address of the host: ws, wss, http or https."),
  workspace_root: NonEmpty(MAX_URL).describe("Folder on the host for workspaces; `~` stays as it is."),
  token: Blankable(MAX_SECRET).describe("Gateway token; blank removes it, the masked form keeps it."),
  disable_device_pairing: z.boolean().describe("Connect as control UI, without a device identity."),
  allow_insecure_tls: z.boolean().describe("Accept any certificate of a wss host."),
  sync_interval_minutes: Integer(MIN_SYNC_MINUTES, MAX_SYNC_MINUTES)
    .nullable()
    .describe("How often the templates are synced by themselves; null is never."),
};

export const CreateGateway = z
  .object({
    ...fields,
    token: fields.token.default(null),
    disable_device_pairing: fields.disable_device_pairing.default(false),
    allow_insecure_tls: fields.allow_insecure_tls.default(false),
    sync_interval_minutes: fields.sync_interval_minutes.default(null),
  })
  .meta({ id: "GatewayCreate" });
export type CreateGateway = z.infer<typeof CreateGateway>;

export const UpdateGateway = z.object(fields).partial().meta({ id: "GatewayUpdate" });
export type UpdateGateway = z.infer<typeof UpdateGateway>;

const own = (ctx: Context<Admin>, gateway_id: string) =>
  and(eq(gateways.id, gateway_id), eq(gateways.organization_id, ctx.actor.active.organization_id));

/** The organization's gateways, newest first. */
export function listGateways(ctx: Context<Admin>, query: PageQuery): Promise<Page<Gateway>> {
  const wanted = eq(gateways.organization_id, ctx.actor.active.organization_id);
  const total = ctx.db.$count(gateways, wanted);
  return readPage(
    query,
    total,
    (limit, offset) =>
      ctx.db
        .select({ item: gateways, total })
        .from(gateways)
        .where(wanted)
        .orderBy(desc(gateways.created_at), desc(gateways.id))
        .limit(limit)
        .offset(offset),
    (row) => toGateway(ctx, row),
  );
}

export async function getGateway(ctx: Context<Admin>, gateway_id: string): Promise<Gateway> {
  const [row] = await ctx.db.select().from(gateways).where(own(ctx, gateway_id));
  if (!row) throw notFound();
  return toGateway(ctx, row);
}

/** Registers a gateway with its main agent. A host that cannot be reached is registered too, and says why it is not connected. */
export async function createGateway(ctx: Context<Admin>, input: CreateGateway): Promise<Gateway> {
  const { token, ...values } = input;
  const reach = await probeGateway(ctx, { ...input });
  const sync_due_at = firstSyncDue(ctx.now(), input.sync_interval_minutes);
  return transaction(ctx, async (ctx) => {
    const [row] = await ctx.db
      .insert(gateways)
      .values({
        ...values,
        ...reach,
        sync_due_at,
        token_sealed: sealToken(ctx, token),
        organization_id: ctx.actor.active.organization_id,
      })
      .returning();
    await createMainAgent(ctx, row!);
    return toGateway(ctx, row!);
  });
}

/**
 * Changes what was sent; a changed connection is tried first, as at registration. A missing main agent is made again; one
 * that is there gets its files anew when they say something else now.
 */
export async function updateGateway(ctx: Context<Admin>, gateway_id: string, input: UpdateGateway): Promise<Gateway> {
  const [stored] = await ctx.db.select().from(gateways).where(own(ctx, gateway_id));
  if (!stored) throw notFound();
  const { token: sentToken, ...sent } = input;
  const storedToken = openToken(ctx, stored);
  const keepsToken =
    sentToken === undefined || sentToken === storedToken || (sentToken !== null && sentToken === maskToken(storedToken));
  const token = keepsToken ? storedToken : sentToken;
  const changes = changesOf(stored, sent);
  const { url, disable_device_pairing, allow_insecure_tls, sync_interval_minutes } = changes;
  const reconnects = !keepsToken || url !== undefined || disable_device_pairing !== undefined || allow_insecure_tls !== undefined;
  const reach: Partial<Reach> = reconnects ? await probeGateway(ctx, { ...stored, ...changes, token }) : {};
  const tokenChange = keepsToken ? {} : { token_sealed: sealToken(ctx, token) };
  const syncChange = sync_interval_minutes === undefined ? {} : { sync_due_at: firstSyncDue(ctx.now(), sync_interval_minutes) };
  return transaction(ctx, async (ctx) => {
    const written = { ...changes, ...tokenChange, ...syncChange, ...reach };
    // Locked also when nothing is written: its main agent must not be made while it is being removed.
    const [row] = isEmpty(written)
      ? await ctx.db.select().from(gateways).where(own(ctx, gateway_id)).for("key share")
      : await ctx.db.update(gateways).set(written).where(own(ctx, gateway_id)).returning();
    if (!row) throw notFound();
    if (reach.connected !== undefined && reach.connected !== stored.connected) await recordFlip(ctx, row);
    const isRetold = reconnects || changes.name !== undefined || changes.workspace_root !== undefined;
    if (!(await createMainAgent(ctx, row)) && isRetold) await updateMainAgent(ctx, stored, row);
    return toGateway(ctx, row);
  });
}

/** Removes a gateway that no board and no board agent uses any more. */
export function removeGateway(ctx: Context<Admin>, gateway_id: string): Promise<void> {
  return transactionGivingWay(ctx, async (ctx) => {
    const [row] = await ctx.db.select().from(gateways).where(own(ctx, gateway_id)).for("update");
    if (!row) throw notFound();
    const [board] = await ctx.db.select({ id: boards.id }).from(boards).where(eq(boards.gateway_id, gateway_id)).limit(1);
    const [bound] = await ctx.db
      .select({ id: agents.id })
      .from(agents)
      .innerJoin(boards, eq(boards.id, agents.board_id))
      .where(or(eq(agents.gateway_id, gateway_id), eq(boards.gateway_id, gateway_id)))
      .limit(1);
    if (board || bound) throw new DomainError("conflict", "Gateway is still used by boards or agents.");
    await removeMainAgent(ctx, row);
    await ctx.db.delete(gateways).where(own(ctx, gateway_id));
  });
}

/**
 * For boards: the gateway is the organization's and has the main agent that boards depend on. Until the caller's
 * transaction ends it cannot be removed.
 */
export async function requireGatewayWithMain(ctx: Context, organization_id: string, gateway_id: string): Promise<void> {
  const [row] = await ctx.db
    .select({ main: agents.id })
    .from(gateways)
    .leftJoin(agents, and(eq(agents.gateway_id, gateways.id), eq(agents.openclaw_session_id, mainSessionKey(gateway_id))))
    .where(and(eq(gateways.id, gateway_id), eq(gateways.organization_id, organization_id)))
    .for("key share", { of: gateways });
  if (!row) throw new DomainError("invalid", "gateway_id is invalid");
  if (!row.main)
    throw new DomainError("invalid", "gateway must have a gateway main agent before boards can be created or updated");
}

function toGateway(ctx: Context, row: GatewayRow): Gateway {
  const { token_sealed, checked_at, sync_due_at, created_at, updated_at, ...shown } = row;
  return {
    ...shown,
    token: maskToken(openToken(ctx, row)),
    has_token: token_sealed !== null,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  };
}
