import { asc } from "drizzle-orm";
import type { Context } from "../context.ts";
import { seal, unseal } from "../seal.ts";
import type { GatewayTarget } from "./client.ts";
import { gateways } from "./gateway.sql.ts";

export type GatewayRow = typeof gateways.$inferSelect;

/** The gateways of all organizations, oldest first, for the operator's eye. */
export const listAllGateways = (ctx: Pick<Context, "db">): Promise<GatewayRow[]> =>
  ctx.db.select().from(gateways).orderBy(asc(gateways.created_at), asc(gateways.id));

/** What the client needs to reach a stored gateway, the token opened. */
export function toTarget(ctx: Pick<Context, "settings">, row: GatewayRow): GatewayTarget {
  const { url, disable_device_pairing, allow_insecure_tls } = row;
  return { url, token: openToken(ctx, row), disable_device_pairing, allow_insecure_tls };
}

export const sealToken = (ctx: Context, token: string | null) =>
  token === null ? null : seal(ctx.settings.encryption_key, token);

export const openToken = (ctx: Pick<Context, "settings">, row: Pick<GatewayRow, "token_sealed">) =>
  row.token_sealed ? unseal(ctx.settings.encryption_key, row.token_sealed) : null;
