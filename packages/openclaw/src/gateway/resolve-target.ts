import { and, desc, eq } from "drizzle-orm";
import * as z from "zod";
import { boardFor } from "@board/core/organization/access";
import { type Admin, mainSessionKey } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import { DomainError, notFound } from "@board/core/values/errors";
import { Id, MAX_SECRET, MAX_URL, QueryBoolean, valueError, lazyObject } from "@board/core/values/wire";
import type { GatewayTarget } from "@board/core/context/gateways";
import { gateways } from "@board/core/schema/gateway.sql";
import { maskToken } from "./mask.ts";
import { noHost } from "@board/core/agent/pull-gateway";
import { type GatewayRow, readableToken, unsealToken, toTarget } from "@board/core/gateway/target";
import { isGatewayUrl } from "../wire/url.ts";

/** How a caller selects a host (docs/reference/gateways.md#choosing-the-host). */
export const TargetQuery = lazyObject(() => ({
  gateway_url: z
    .string()
    .trim()
    .max(MAX_URL, { abort: true })
    .refine((url) => url === "" || isGatewayUrl(url), valueError("gateway_url must be ws, wss, http or https with a host"))
    .optional()
    .describe("Address of a host, stored or not. Takes precedence over the other parameters."),
  gateway_token: z
    .string()
    .trim()
    .max(MAX_SECRET)
    .optional()
    .describe("Token for `gateway_url`. The masked token of a gateway that is stored with this address selects its token."),
  gateway_disable_device_pairing: QueryBoolean.optional().describe(
    "Connect to `gateway_url` as control UI, without a device identity. Defaults to the stored setting.",
  ),
  gateway_allow_insecure_tls: QueryBoolean.optional().describe(
    "Accept any TLS certificate of a wss `gateway_url`. Defaults to the stored setting.",
  ),
  gateway_id: Id.optional().describe("A stored gateway. Takes precedence over `board_id`."),
  board_id: Id.optional().describe(
    "A board, to select its gateway. Without any of these parameters, the organization's only gateway is used.",
  ),
}));
export type TargetQuery = z.infer<typeof TargetQuery>;

/** The host that a query selects. */
export interface ResolvedHost {
  target: GatewayTarget;
  /** The stored gateway with exactly this connection; null when the query contains a different url, token or flag. */
  stored: GatewayRow | null;
  /** Session of the main agent, or null when no gateway with this address is stored. */
  main_session_key: string | null;
}

/**
 * Finds the host that the query selects by address, by gateway or by board, or else the organization's only gateway with a host. A
 * board in the query requires access even when another parameter takes precedence. Throws `invalid` when there is no host to
 * select.
 */
export async function resolveTarget(
  ctx: Context<Admin>,
  query: TargetQuery,
  need: "read" | "write" = "read",
): Promise<ResolvedHost> {
  const host = await resolveGateway(ctx, query, need);
  if (host.stored?.kind === "pull") throw noHost();
  return host;
}

/** Does the same as `resolveTarget`, but also accepts a gateway without a host. */
export async function resolveGateway(
  ctx: Context<Admin>,
  query: TargetQuery,
  need: "read" | "write" = "read",
): Promise<ResolvedHost> {
  const found = await findTarget(ctx, query, need);
  if (!found) throw new DomainError("invalid", "board_id, gateway_id or gateway_url is required");
  return found;
}

/**
 * Does the same as `resolveGateway`, but returns null if the query selects nothing and there is not exactly one gateway with a
 * host.
 */
export async function findTarget(
  ctx: Context<Admin>,
  query: TargetQuery,
  need: "read" | "write" = "read",
): Promise<ResolvedHost | null> {
  const { organization_id } = ctx.actor.active;
  const isOwn = eq(gateways.organization_id, organization_id);
  const board = query.board_id === undefined ? null : await boardFor(ctx, query.board_id, need);
  // The caller may be a member of the board's organization without being its admin.
  if (board && board.organization_id !== organization_id) throw notFound();
  if (query.gateway_url) return await resolveByUrl(ctx, query.gateway_url, query);
  const gateway_id = query.gateway_id ?? board?.gateway_id;
  if (gateway_id === undefined) {
    const [only, another] = await ctx.db
      .select()
      .from(gateways)
      .where(and(isOwn, eq(gateways.kind, "openclaw")))
      .limit(2);
    return only && !another ? toStoredHost(ctx, only) : null;
  }
  const [row] = await ctx.db
    .select()
    .from(gateways)
    .where(and(isOwn, eq(gateways.id, gateway_id)));
  if (row) return toStoredHost(ctx, row);
  if (query.gateway_id !== undefined) throw notFound();
  throw new DomainError("invalid", "Board gateway_id is invalid");
}

const toStoredHost = (ctx: Context, row: GatewayRow): ResolvedHost => ({
  target: toTarget(ctx, row),
  stored: row,
  main_session_key: mainSessionKey(row.id),
});

/**
 * Resolves a host by its address. A stored gateway with this address supplies the flags that were not sent. Its token is used
 * only if its masked form was sent, because knowing an address must not be enough to use a token. If several gateways have this
 * address, the one whose masked token was sent is used, else the newest.
 */
async function resolveByUrl(ctx: Context<Admin>, url: string, query: TargetQuery): Promise<ResolvedHost> {
  const rows = await ctx.db
    .select()
    .from(gateways)
    .where(and(eq(gateways.organization_id, ctx.actor.active.organization_id), eq(gateways.url, url)))
    .orderBy(desc(gateways.created_at), desc(gateways.id));
  const sent = query.gateway_token || null;
  const matched = sent === null ? undefined : rows.find((row) => maskToken(readableToken(ctx, row)) === sent);
  const row = matched ?? rows[0];
  const target: GatewayTarget = {
    url,
    token: matched ? unsealToken(ctx, matched) : sent,
    disable_device_pairing: query.gateway_disable_device_pairing ?? row?.disable_device_pairing ?? false,
    allow_insecure_tls: query.gateway_allow_insecure_tls ?? row?.allow_insecure_tls ?? false,
    organization_id: ctx.actor.active.organization_id,
  };
  if (!row) return { target, stored: null, main_session_key: null };
  const is_stored =
    target.token === readableToken(ctx, row) &&
    (target.token !== null || row.token_sealed === null) &&
    target.disable_device_pairing === row.disable_device_pairing &&
    target.allow_insecure_tls === row.allow_insecure_tls;
  return { target, stored: is_stored ? row : null, main_session_key: mainSessionKey(row.id) };
}
