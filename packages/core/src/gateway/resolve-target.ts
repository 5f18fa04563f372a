import { and, desc, eq } from "drizzle-orm";
import * as z from "zod";
import { boardFor } from "../access.ts";
import { type Admin, mainSessionKey } from "../actor.ts";
import type { Context } from "../context.ts";
import { DomainError, notFound } from "../errors.ts";
import { Id, MAX_SECRET, MAX_URL, QueryBoolean, rule } from "../wire.ts";
import type { GatewayTarget } from "./client.ts";
import { gateways } from "./gateway.sql.ts";
import { maskToken } from "./mask.ts";
import { type GatewayRow, openToken, toTarget } from "./target.ts";
import { isGatewayUrl } from "./url.ts";

/** How a caller says which host is meant. */
export const TargetQuery = z.object({
  gateway_url: z
    .string()
    .trim()
    .max(MAX_URL, { abort: true })
    .refine((url) => url === "" || isGatewayUrl(url), rule("gateway_url must be ws, wss, http or https with a host"))
    .optional()
    .describe("Address of a host, saved or not. Comes before the other ways to name one."),
  gateway_token: z
    .string()
    .trim()
    .max(MAX_SECRET)
    .optional()
    .describe("Token for `gateway_url`. The masked form of a gateway saved with that address stands for its token."),
  gateway_disable_device_pairing: QueryBoolean.optional().describe(
    "Connect to `gateway_url` as control UI, without a device identity. As saved when left out.",
  ),
  gateway_allow_insecure_tls: QueryBoolean.optional().describe(
    "Accept any certificate of a wss `gateway_url`. As saved when left out.",
  ),
  gateway_id: Id.optional().describe("A saved gateway. Comes before `board_id`."),
  board_id: Id.optional().describe("A board; its gateway is meant. Without any of these, the organization's only gateway."),
});
export type TargetQuery = z.infer<typeof TargetQuery>;

/** The host that a caller means. */
export interface NamedHost {
  target: GatewayTarget;
  /** The saved gateway whose stored connection this is; null for one that the caller made up, wholly or in part. */
  saved: GatewayRow | null;
  /** Session of the main agent, when a gateway of this address is saved. */
  main_session_key: string | null;
}

/**
 * The host that the query names: by address, by gateway, by board, else the organization's only one (contract gateways.md
 * §3). A board that is named must be within the caller's reach, also when something else decides.
 */
export async function resolveTarget(
  ctx: Context<Admin>,
  query: TargetQuery,
  need: "read" | "write" = "read",
): Promise<NamedHost> {
  const host = await findTarget(ctx, query, need);
  if (!host) throw new DomainError("invalid", "board_id, gateway_id or gateway_url is required");
  return host;
}

/** The same, or null when the query names nothing and there is not exactly one gateway. */
export async function findTarget(
  ctx: Context<Admin>,
  query: TargetQuery,
  need: "read" | "write" = "read",
): Promise<NamedHost | null> {
  const { organization_id } = ctx.actor.active;
  const own = eq(gateways.organization_id, organization_id);
  const board = query.board_id === undefined ? null : await boardFor(ctx, query.board_id, need);
  // The caller may be a member of the board's organization and an admin of this one.
  if (board && board.organization_id !== organization_id) throw notFound();
  if (query.gateway_url) return await hostAt(ctx, query.gateway_url, query);
  const gateway_id = query.gateway_id ?? board?.gateway_id;
  if (gateway_id === undefined) {
    const [only, another] = await ctx.db.select().from(gateways).where(own).limit(2);
    return only && !another ? savedHost(ctx, only) : null;
  }
  const [row] = await ctx.db
    .select()
    .from(gateways)
    .where(and(own, eq(gateways.id, gateway_id)));
  if (row) return savedHost(ctx, row);
  if (query.gateway_id !== undefined) throw notFound();
  throw new DomainError("invalid", "Board gateway_id is invalid");
}

const savedHost = (ctx: Context, row: GatewayRow): NamedHost => ({
  target: toTarget(ctx, row),
  saved: row,
  main_session_key: mainSessionKey(row.id),
});

/**
 * A host by its address. A gateway that the organization has saved with it gives the flags that were not sent, and its
 * token to a caller who shows the masked form: knowing an address is not enough to use a token. Of several, the one
 * whose masked token was sent, else the newest.
 */
async function hostAt(ctx: Context<Admin>, url: string, query: TargetQuery): Promise<NamedHost> {
  const rows = await ctx.db
    .select()
    .from(gateways)
    .where(and(eq(gateways.organization_id, ctx.actor.active.organization_id), eq(gateways.url, url)))
    .orderBy(desc(gateways.created_at), desc(gateways.id));
  const sent = query.gateway_token || null;
  const meant = sent === null ? undefined : rows.find((row) => maskToken(openToken(ctx, row)) === sent);
  const row = meant ?? rows[0];
  const target: GatewayTarget = {
    url,
    token: meant ? openToken(ctx, meant) : sent,
    disable_device_pairing: query.gateway_disable_device_pairing ?? row?.disable_device_pairing ?? false,
    allow_insecure_tls: query.gateway_allow_insecure_tls ?? row?.allow_insecure_tls ?? false,
  };
  if (!row) return { target, saved: null, main_session_key: null };
  const stored = toTarget(ctx, row);
  const isStored =
    target.token === stored.token &&
    target.disable_device_pairing === stored.disable_device_pairing &&
    target.allow_insecure_tls === stored.allow_insecure_tls;
  return { target, saved: isStored ? row : null, main_session_key: mainSessionKey(row.id) };
}
