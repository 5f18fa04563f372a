import { and, asc, eq } from "drizzle-orm";
import { type Admin, mainSessionKey } from "../context/actor.ts";
import { actingAs } from "../db/change-actor.ts";
import { agents } from "../schema/agent.sql.ts";
import type { Context } from "../context/context.ts";
import { DomainError, notFound } from "../values/errors.ts";
import type { GatewayTarget } from "../context/gateways.ts";
import { seal, unseal, unsealIfReadable } from "../values/seal.ts";
import { type GatewayKind, gateways } from "../schema/gateway.sql.ts";

export type GatewayRow = typeof gateways.$inferSelect;

/** Returns a condition on `gateways` for the gateway with this id, if it belongs to the caller's organization. */
export const isOwnGateway = (ctx: Context<Admin>, gateway_id: string) =>
  and(eq(gateways.id, gateway_id), eq(gateways.organization_id, ctx.actor.active.organization_id));

/** Returns a gateway of the caller's organization. Throws `not_found`. */
export async function getGatewayRow(ctx: Context<Admin>, gateway_id: string): Promise<GatewayRow> {
  const [row] = await ctx.db.select().from(gateways).where(isOwnGateway(ctx, gateway_id));
  if (!row) throw notFound();
  return row;
}

/** Throws `not_found` unless the gateway belongs to the caller's organization. */
export async function requireOwnGateway(ctx: Context<Admin>, gateway_id: string): Promise<void> {
  const [gateway] = await ctx.db.select({ id: gateways.id }).from(gateways).where(isOwnGateway(ctx, gateway_id));
  if (!gateway) throw notFound();
}

interface GatewayRef {
  gateway_id: string;
  organization_id: string;
}

/** Returns the kind of an organization's gateway. Throws `not_found`. */
export async function gatewayKind(ctx: Context, { gateway_id, organization_id }: GatewayRef): Promise<GatewayKind> {
  const [row] = await ctx.db
    .select({ kind: gateways.kind })
    .from(gateways)
    .where(and(eq(gateways.id, gateway_id), eq(gateways.organization_id, organization_id)));
  if (!row) throw notFound();
  return row.kind;
}

/** Lists the gateways of all organizations that have a host, oldest first. Only the operator's tools may use it. */
export const listAllGateways = (ctx: Pick<Context, "db">): Promise<GatewayRow[]> =>
  ctx.db.select().from(gateways).where(eq(gateways.kind, "openclaw")).orderBy(asc(gateways.created_at), asc(gateways.id));

type GatewayLocation = Pick<GatewayRow, "url" | "workspace_root">;

/** Returns whether the gateway has an address and, with `needs_workspace`, a folder for workspaces. */
export const isUsableGateway = ({ url, workspace_root }: GatewayLocation, { needs_workspace = false } = {}): boolean =>
  url.trim() !== "" && (!needs_workspace || workspace_root.trim() !== "");

/** Throws `invalid` if the gateway of a board does not exist or cannot be used. */
export function requireUsableGateway<T extends GatewayLocation>(
  gateway: T | null | undefined,
  { needs_workspace = false } = {},
): asserts gateway is T {
  if (!gateway) throw new DomainError("invalid", "Board gateway_id is invalid");
  if (!isUsableGateway(gateway)) throw new DomainError("invalid", "Gateway url is required");
  if (!isUsableGateway(gateway, { needs_workspace })) throw new DomainError("invalid", "Gateway workspace_root is required");
}

/** Returns what a client needs to connect to the gateway, including the token in plain text. */
export const toTarget = (ctx: Pick<Context, "settings">, row: GatewayRow): GatewayTarget =>
  toTargetWith(row, unsealToken(ctx, row));

/**
 * Like `toTarget`, for a gateway that is being removed. A token that cannot be read is null. The host may then refuse the clean-up,
 * but the gateway can be removed.
 */
export const toLastTarget = (ctx: Pick<Context, "settings">, row: GatewayRow): GatewayTarget =>
  toTargetWith(row, readableToken(ctx, row));

function toTargetWith(row: GatewayRow, token: string | null): GatewayTarget {
  const { url, disable_device_pairing, allow_insecure_tls, organization_id } = row;
  return { url, token, disable_device_pairing, allow_insecure_tls, organization_id };
}

export const sealToken = (ctx: Context, token: string | null) =>
  token === null ? null : seal(ctx.settings.encryption_key, token);

export const unsealToken = (ctx: Pick<Context, "settings">, row: Pick<GatewayRow, "token_sealed">) =>
  row.token_sealed ? unseal(ctx.settings.encryption_key, row.token_sealed) : null;

/** Returns the token, or null if there is none or if it was encrypted with another ENCRYPTION_KEY. */
export const readableToken = (ctx: Pick<Context, "settings">, row: Pick<GatewayRow, "token_sealed">) =>
  row.token_sealed ? unsealIfReadable(ctx.settings.encryption_key, row.token_sealed) : null;

/** Finds the gateway. Returns null if it was removed or has no address. */
export async function findUsableGateway(ctx: Context, gateway_id: string): Promise<GatewayRow | null> {
  const [row] = await ctx.db.select().from(gateways).where(eq(gateways.id, gateway_id));
  return row && isUsableGateway(row) ? row : null;
}

/**
 * Checks that a board may use the gateway: it must belong to the organization, and if it has a host, it must have a main agent.
 * Locks the gateway, so that it cannot be removed until the transaction ends. Throws `invalid`.
 */
export async function requireGatewayWithMainAgent(ctx: Context, organization_id: string, gateway_id: string): Promise<void> {
  const [row] = await ctx.db
    .select({ kind: gateways.kind, main: agents.id })
    .from(gateways)
    .leftJoin(agents, and(eq(agents.gateway_id, gateways.id), eq(agents.openclaw_session_id, mainSessionKey(gateway_id))))
    .where(and(eq(gateways.id, gateway_id), eq(gateways.organization_id, organization_id), actingAs(ctx)))
    .for("key share", { of: gateways });
  if (!row) throw new DomainError("invalid", "gateway_id is invalid");
  if (!row.main && row.kind !== "pull")
    throw new DomainError("invalid", "gateway must have a gateway main agent before boards can be created or updated");
}
