import { and, asc, eq, sql, type Placeholder } from "drizzle-orm";
import { type Admin, admin } from "../context/actor.ts";
import { agents } from "../schema/agent.sql.ts";
import { OFFLINE_SECONDS } from "./presence.ts";
import { isEmpty } from "../values/changed-fields.ts";
import { type Context, transaction } from "../context/context.ts";
import { actingAs, actingFor } from "../db/change-actor.ts";
import { DomainError } from "../values/errors.ts";
import { lockOrganizationAs } from "../organization/lock.ts";
import { addMs } from "../values/time.ts";
import { gateways } from "../schema/gateway.sql.ts";
import { type GatewayRow, isOwnGateway } from "../gateway/target.ts";

/** Returns the error of an operation that needs a host, for a gateway without a host. */
export const noHost = () => new DomainError("invalid", "Gateway has no host.");

/** Returns a condition on `gateways`: whether an agent of the gateway was seen after this time. */
export const hasSeenAgent = (seen_after: string | Placeholder) =>
  sql`exists (select 1 from ${agents} where ${agents.gateway_id} = ${gateways}.id and ${agents.last_seen_at} >= ${seen_after}::timestamptz)`;

/** Returns the time after which an agent must have been seen to count as online. */
export const seenAfter = (ctx: Context): string => addMs(ctx.now(), -OFFLINE_SECONDS * 1000).toISOString();

/** Returns whether an agent of the gateway was seen recently. The gateway must belong to the caller's organization. */
export async function isPullGatewayConnected(ctx: Context<Admin>, gateway_id: string): Promise<boolean> {
  const [row] = await ctx.db
    .select({ connected: sql<boolean>`${hasSeenAgent(seenAfter(ctx))}` })
    .from(gateways)
    .where(isOwnGateway(ctx, gateway_id));
  return row?.connected ?? false;
}

interface PullGatewayFields {
  name: string;
  sync_interval_minutes?: number | null | undefined;
}

/** Stores a gateway without a host. It keeps the sync interval, but no sync is ever due, because there are no files to write. */
export async function insertPullGateway(
  ctx: Context,
  organization_id: string,
  { name, sync_interval_minutes = null }: PullGatewayFields,
): Promise<GatewayRow> {
  const values = { name, sync_interval_minutes, organization_id, kind: "pull" as const, url: "", workspace_root: "" };
  const [row] = await ctx.db
    .insert(gateways)
    .values({ ...values, organization_id: actingFor(ctx, organization_id) })
    .returning();
  return row!;
}

interface PullGatewayUpdate extends Omit<PullGatewayFields, "name"> {
  name?: string | undefined;
  token?: string | null | undefined;
  disable_device_pairing?: boolean | undefined;
  allow_insecure_tls?: boolean | undefined;
}

/**
 * Updates the name and the sync interval. An address is ignored. Throws `invalid` for any other setting of a connection to a host.
 */
export async function updatePullGateway(ctx: Context<Admin>, gateway_id: string, input: PullGatewayUpdate): Promise<void> {
  const { name, sync_interval_minutes, token, disable_device_pairing, allow_insecure_tls } = input;
  if (token || disable_device_pairing || allow_insecure_tls) throw noHost();
  const values = {
    ...(name === undefined ? {} : { name }),
    ...(sync_interval_minutes === undefined ? {} : { sync_interval_minutes }),
  };
  await transaction(ctx, async (ctx) => {
    if (!isEmpty(values))
      await ctx.db
        .update(gateways)
        .set(values)
        .where(and(isOwnGateway(ctx, gateway_id), actingAs(ctx)));
  });
}

const NAME = "Agents";

/**
 * Returns the oldest pull gateway of the organization and creates one if there is none. Call it in the transaction that connects a
 * board to the gateway.
 */
export async function ensurePullGateway(ctx: Context<Admin>): Promise<string> {
  const { organization_id } = ctx.actor.active;
  const found = await findPullGateway(ctx, organization_id);
  if (found) return found;
  // The lock keeps another request from creating a pull gateway at the same time.
  await lockOrganizationAs(ctx, admin);
  return (await findPullGateway(ctx, organization_id)) ?? (await insertPullGateway(ctx, organization_id, { name: NAME })).id;
}

async function findPullGateway(ctx: Context, organization_id: string): Promise<string | undefined> {
  const [row] = await ctx.db
    .select({ id: gateways.id })
    .from(gateways)
    .where(and(eq(gateways.organization_id, organization_id), eq(gateways.kind, "pull")))
    .orderBy(asc(gateways.created_at), asc(gateways.id))
    .limit(1);
  return row?.id;
}
