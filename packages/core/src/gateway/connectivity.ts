import { eq } from "drizzle-orm";
import { recordEvent } from "../activity/activity.ts";
import { changedFields, isEmpty } from "../changed-fields.ts";
import { type Context, transaction } from "../context.ts";
import { DomainError } from "../errors.ts";
import type { GatewayTarget } from "../openclaw/client.ts";
import { asGatewayError, GatewayError } from "../openclaw/gateway-error.ts";
import { withTimeout } from "../openclaw/timeout.ts";
import { isProtocolMismatch, toGatewayMessage } from "../openclaw/failure.ts";
import { gateways } from "./gateway.sql.ts";
import { checkVersion, fetchVersion } from "../openclaw/version.ts";

/** The last known connection state of a gateway's host. */
export interface Connectivity {
  connected: boolean;
  version: string | null;
  last_error: string | null;
  checked_at: Date;
}

const PROBE_TIMEOUT_MS = 10_000;

/**
 * Tests a connection for at most 10 s before it is saved. A host that is unreachable or refuses the credentials is saved as
 * not connected, an unknown version with a warning. An address that is not allowed, and a version or protocol that cannot
 * be used, throw `invalid` (docs/reference/gateways.md#registration-probe).
 */
export async function probeGateway(ctx: Context, target: GatewayTarget): Promise<Connectivity> {
  const checked_at = ctx.now();
  const version = await probeVersion(ctx, target);
  if (version instanceof Error) {
    if (version.failure.refused_address || isProtocolMismatch(version))
      throw new DomainError("invalid", toGatewayMessage(version));
    return { connected: false, version: null, last_error: toGatewayMessage(version), checked_at };
  }
  const verdict = checkVersion(version, ctx.settings.gateway_min_version);
  if (verdict.kind === "incompatible") throw new DomainError("invalid", verdict.message);
  return { connected: true, version, last_error: verdict.kind === "unknown" ? verdict.message : null, checked_at };
}

/** Returns the host's version, null when the host does not report one, or the error after at most 10 s. */
export async function probeVersion(ctx: Context, target: GatewayTarget): Promise<string | null | GatewayError> {
  const { url, token, disable_device_pairing, allow_insecure_tls, organization_id } = target;
  const pending = fetchVersion(
    ctx.gateways,
    { url, token, disable_device_pairing, allow_insecure_tls, organization_id },
    { timeout_ms: PROBE_TIMEOUT_MS },
  );
  return await withTimeout(pending, PROBE_TIMEOUT_MS, "answer").catch(asGatewayError);
}

interface KnownConnectivity {
  id: string;
  organization_id: string;
  name: string;
  connected: boolean;
  last_error: string | null;
}

/**
 * Updates `connected` and `last_error` after a call, and writes only on a change, so that a busy gateway costs nothing.
 * An application error is an answer too: only an unreachable host is not connected.
 */
export async function recordConnectivity(ctx: Context, gateway: KnownConnectivity, error: GatewayError | null): Promise<void> {
  const connected = error === null || !isUnreachable(error);
  // While a host is connected, `last_error` is a warning about its version, which a successful call does not clear.
  if (connected && gateway.connected) return;
  await storeConnectivity(ctx, gateway, { connected, last_error: connected ? null : toGatewayMessage(error) });
}

/** Writes the connectivity if it differs from the known state, with an activity event when `connected` changes. */
export async function storeConnectivity(
  ctx: Context,
  gateway: KnownConnectivity,
  connectivity: Pick<Connectivity, "connected" | "last_error"> & Partial<Connectivity>,
): Promise<void> {
  if (isEmpty(changedFields<Partial<Connectivity>>(gateway, connectivity))) return;
  await transaction(ctx, async (ctx) => {
    const isGateway = eq(gateways.id, gateway.id);
    const [before] = await ctx.db.select({ connected: gateways.connected }).from(gateways).where(isGateway).for("update");
    if (!before) return;
    await ctx.db
      .update(gateways)
      .set({ ...connectivity, checked_at: ctx.now() })
      .where(isGateway);
    if (before.connected !== connectivity.connected) await recordConnectivityChange(ctx, { ...gateway, ...connectivity });
  });
}

/** Records in the activity log that a host was connected or disconnected. */
export async function recordConnectivityChange(ctx: Context, gateway: Omit<KnownConnectivity, "id">): Promise<void> {
  const { organization_id, name, connected, last_error } = gateway;
  await recordEvent(ctx, connected ? "gateway.connected" : "gateway.disconnected", {
    organization_id,
    message: connected ? `Gateway connected: ${name}.` : `Gateway disconnected: ${name}. ${last_error}`,
  });
}

/** Makes calls to a stored gateway and records its connectivity from their outcome. Errors of the calls are rethrown. */
export async function trackConnectivity<T>(ctx: Context, gateway: KnownConnectivity, calls: () => Promise<T>): Promise<T> {
  let result: T;
  try {
    result = await calls();
  } catch (error) {
    if (error instanceof GatewayError) await recordConnectivity(ctx, gateway, error);
    throw error;
  }
  await recordConnectivity(ctx, gateway, null);
  return result;
}

/** The connection could not be opened, or it was lost before the response. */
export function isUnreachable(error: GatewayError): boolean {
  const { close_code, http_status, system_code, timed_out, unconnected } = error.failure;
  return unconnected === true || timed_out === true || [close_code, http_status, system_code].some((part) => part != null);
}
