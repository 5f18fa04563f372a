import { eq } from "drizzle-orm";
import { dailyKey, storeAlerts } from "@board/core/alert/alert-job";
import { recordEvent } from "@board/core/activity/activity";
import { recordHostState } from "./host-history.ts";
import { resumeWorkOfGateway } from "./resume.ts";
import { changedFields, isEmpty } from "@board/core/values/changed-fields";
import type { Alert } from "@board/core/context/alert";
import { type Context, transaction } from "@board/core/context/context";
import { DomainError } from "@board/core/values/errors";
import { closeCircuit, openCircuit } from "@board/core/job/circuit";
import type { GatewayTarget } from "@board/core/context/gateways";
import { asGatewayError, GatewayError } from "../wire/gateway-error.ts";
import { withTimeout } from "../wire/timeout.ts";
import { isProtocolMismatch, toGatewayMessage } from "../wire/failure.ts";
import { gateways } from "@board/core/schema/gateway.sql";
import { checkVersion, fetchVersion } from "../wire/version.ts";

/** The last known connection state of a gateway's host. */
export interface Connectivity {
  connected: boolean;
  version: string | null;
  last_error: string | null;
  checked_at: Date;
}

/** Time limit of a probe at registration. A person waits for it, so it is longer than a job's first contact. */
const REGISTRATION_PROBE_MS = 10_000;

/**
 * Tests a connection for at most 10 s before it is saved. A host that is unreachable or refuses the credentials is saved as not
 * connected, and a host of unknown version with a warning. Throws `invalid` for an address that is not allowed, and for a version
 * or protocol that cannot be used (docs/reference/gateways.md#registration-probe).
 */
export async function probeGateway(ctx: Context, target: GatewayTarget): Promise<Connectivity> {
  const checked_at = ctx.now();
  const version = await probeVersion(ctx, target, REGISTRATION_PROBE_MS);
  if (version instanceof Error) {
    if (version.failure.refused_address || isProtocolMismatch(version))
      throw new DomainError("invalid", toGatewayMessage(version));
    return { connected: false, version: null, last_error: toGatewayMessage(version), checked_at };
  }
  const verdict = checkVersion(version, ctx.settings.gateway_min_version);
  if (verdict.kind === "incompatible") throw new DomainError("invalid", verdict.message);
  return { connected: true, version, last_error: verdict.kind === "unknown" ? verdict.message : null, checked_at };
}

/** Returns the host's version, null when the host does not report one, or the error after at most `timeout_ms`. */
export async function probeVersion(
  ctx: Context,
  target: GatewayTarget,
  timeout_ms: number,
): Promise<string | null | GatewayError> {
  const { url, token, disable_device_pairing, allow_insecure_tls, organization_id } = target;
  const pending = fetchVersion(
    ctx.gateways,
    { url, token, disable_device_pairing, allow_insecure_tls, organization_id },
    { timeout_ms },
  );
  return await withTimeout(pending, timeout_ms, "answer").catch(asGatewayError);
}

interface KnownConnectivity {
  id: string;
  organization_id: string;
  name: string;
  connected: boolean;
  last_error: string | null;
}

/**
 * Updates `connected` and `last_error`, if they change, after a call that began at `started_at`. A host that returns an error
 * counts as connected. A job that cannot connect to the host opens the gateway's circuit. Any answer closes the circuit.
 */
export async function recordConnectivity(
  ctx: Context,
  gateway: KnownConnectivity,
  error: GatewayError | null,
  started_at: Date = ctx.now(),
): Promise<void> {
  const connected = error === null || !error.is_unreachable;
  // While a host is connected, `last_error` is a warning about its version, which a successful call does not clear.
  if (connected && gateway.connected) return;
  const connectivity = { connected, last_error: connected ? null : toGatewayMessage(error) };
  const is_down = !connected && error.is_transient;
  // A person's request has a shorter deadline than a job, so its failure opens no circuit.
  if (is_down && ctx.actor.type !== "system") return storeConnectivity(ctx, gateway, connectivity);
  await transaction(ctx, async (ctx) => {
    await writeConnectivity(ctx, gateway, connectivity);
    if (is_down) await openCircuit(ctx, gateway.id, { started_at, error: toGatewayMessage(error) });
    else await closeCircuit(ctx, gateway.id);
  });
}

type NewConnectivity = Pick<Connectivity, "connected" | "last_error"> & Partial<Connectivity>;

/** Writes the connectivity if it differs from the known state, with an activity event when `connected` changes. */
export async function storeConnectivity(ctx: Context, gateway: KnownConnectivity, connectivity: NewConnectivity): Promise<void> {
  if (isEmpty(changedFields<Partial<Connectivity>>(gateway, connectivity))) return;
  await transaction(ctx, async (ctx) => {
    await writeConnectivity(ctx, gateway, connectivity);
    if (connectivity.connected) await closeCircuit(ctx, gateway.id);
  });
}

/**
 * Locks the gateway before its connectivity and its circuit change, so that a connected gateway never has an open circuit. A
 * success on a connected gateway therefore needs no query.
 */
async function writeConnectivity(ctx: Context, gateway: KnownConnectivity, connectivity: NewConnectivity): Promise<void> {
  const isGateway = eq(gateways.id, gateway.id);
  const known = { connected: gateways.connected, version: gateways.version, last_error: gateways.last_error };
  const [before] = await ctx.db.select(known).from(gateways).where(isGateway).for("update");
  if (!before || isEmpty(changedFields<Partial<Connectivity>>(before, connectivity))) return;
  await ctx.db
    .update(gateways)
    .set({ ...connectivity, checked_at: ctx.now() })
    .where(isGateway);
  await recordHostState(ctx, gateway.id, before, { ...before, ...connectivity });
  if (before.connected === connectivity.connected) return;
  await recordConnectivityChange(ctx, { ...gateway, ...connectivity });
  if (!connectivity.connected) await storeAlerts(ctx, [downAlert(ctx, gateway)]);
  if (connectivity.connected) await resumeWorkOfGateway(ctx, gateway);
}

const downAlert = (ctx: Context, { id, organization_id }: KnownConnectivity): Alert => ({
  type: "gateway.down",
  organization_id,
  board_id: null,
  task_id: null,
  subject_id: id,
  key: dailyKey(ctx, "gateway.down", id),
  actor: { type: "system", id: null },
});

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
  const started_at = ctx.now();
  let result: T;
  try {
    result = await calls();
  } catch (error) {
    if (error instanceof GatewayError) await recordConnectivity(ctx, gateway, error, started_at);
    throw error;
  }
  await recordConnectivity(ctx, gateway, null);
  return result;
}
