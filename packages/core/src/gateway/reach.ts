import { eq } from "drizzle-orm";
import { recordEvent } from "../activity/activity.ts";
import { changesOf, isEmpty } from "../change.ts";
import { type Context, transaction } from "../context.ts";
import { DomainError } from "../errors.ts";
import { isAllowedHost } from "./address.ts";
import { GatewayError, type GatewayTarget } from "./client.ts";
import { within } from "./deadline.ts";
import { isProtocolMismatch, toGatewayMessage } from "./failure.ts";
import { gateways } from "./gateway.sql.ts";
import { checkVersion, readVersion } from "./version.ts";

/** What is known of a host's reachability. */
export interface Reach {
  connected: boolean;
  version: string | null;
  last_error: string | null;
  checked_at: Date;
}

const PROBE_MS = 10_000;

/**
 * Tries a connection before it is saved, at most 10 s. Not reached, or refused for its credentials: saved as not
 * connected. Reached but unusable (too old, odd version, other protocol): refused. Unknown version: saved with a warning.
 */
export async function probeGateway(ctx: Context, target: GatewayTarget): Promise<Reach> {
  const { gateway_allowed_hosts, private_gateways_allowed, gateway_min_version } = ctx.settings;
  const rules = { allowed_hosts: gateway_allowed_hosts, private_addresses_allowed: private_gateways_allowed };
  if (!(await isAllowedHost(target.url, rules))) throw new DomainError("invalid", "Gateway host is not allowed.");
  const checked_at = ctx.now();
  const version = await askVersion(ctx, target);
  if (version instanceof Error) {
    if (isProtocolMismatch(version)) throw new DomainError("invalid", toGatewayMessage(version));
    return { connected: false, version: null, last_error: toGatewayMessage(version), checked_at };
  }
  const verdict = checkVersion(version, gateway_min_version);
  if (verdict.kind === "incompatible") throw new DomainError("invalid", verdict.message);
  return { connected: true, version, last_error: verdict.kind === "unknown" ? verdict.message : null, checked_at };
}

/** The version of a host within 10 s in all, null when it is reached and does not tell, or why it is not reached. */
export async function askVersion(ctx: Context, target: GatewayTarget): Promise<string | null | GatewayError> {
  const { url, token, disable_device_pairing, allow_insecure_tls } = target;
  try {
    const asked = readVersion(ctx.gateways, { url, token, disable_device_pairing, allow_insecure_tls }, { timeout_ms: PROBE_MS });
    return await within(asked, PROBE_MS, "answer");
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}

interface Known {
  id: string;
  organization_id: string;
  name: string;
  connected: boolean;
  last_error: string | null;
}

/**
 * Keeps `connected` and `last_error` true to the outcome of a call. Writes only when one of them changes, so that a busy
 * gateway costs nothing. An application error is an answer too: only a host that does not let us in is not connected.
 */
export async function recordReach(ctx: Context, gateway: Known, error: GatewayError | null): Promise<void> {
  const connected = error === null || !isUnreached(error);
  // What a connected host's `last_error` says is a warning about its version, which no call takes back.
  if (connected && gateway.connected) return;
  await storeReach(ctx, gateway, { connected, last_error: connected ? null : toGatewayMessage(error) });
}

/** Writes what differs from the known state; tells in the activity log when a host has come or gone. */
export async function storeReach(
  ctx: Context,
  gateway: Known,
  reach: Pick<Reach, "connected" | "last_error"> & Partial<Reach>,
): Promise<void> {
  if (isEmpty(changesOf<Partial<Reach>>(gateway, reach))) return;
  await transaction(ctx, async (ctx) => {
    const ofGateway = eq(gateways.id, gateway.id);
    const [before] = await ctx.db.select({ connected: gateways.connected }).from(gateways).where(ofGateway).for("update");
    if (!before) return;
    await ctx.db
      .update(gateways)
      .set({ ...reach, checked_at: ctx.now() })
      .where(ofGateway);
    if (before.connected !== reach.connected) await recordFlip(ctx, { ...gateway, ...reach });
  });
}

/** Tells in the activity log that a host has come or gone. */
export async function recordFlip(ctx: Context, gateway: Omit<Known, "id">): Promise<void> {
  const { organization_id, name, connected, last_error } = gateway;
  await recordEvent(ctx, connected ? "gateway.connected" : "gateway.disconnected", {
    organization_id,
    message: connected ? `Gateway connected: ${name}.` : `Gateway disconnected: ${name}. ${last_error}`,
  });
}

/** Makes calls to a stored gateway and keeps its state true to how they end. Rejects with what they reject with. */
export async function trackingReach<T>(ctx: Context, gateway: Known, calls: () => Promise<T>): Promise<T> {
  let result: T;
  try {
    result = await calls();
  } catch (error) {
    if (error instanceof GatewayError) await recordReach(ctx, gateway, error);
    throw error;
  }
  await recordReach(ctx, gateway, null);
  return result;
}

/** No connection came about, or it was lost before the answer. */
export function isUnreached(error: GatewayError): boolean {
  const { close_code, http_status, system_code, timed_out, unconnected } = error.failure;
  return unconnected === true || timed_out === true || [close_code, http_status, system_code].some((part) => part != null);
}
