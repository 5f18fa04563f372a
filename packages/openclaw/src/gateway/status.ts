import * as z from "zod";
import type { Admin } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import { asGatewayError, catchGatewayError, GatewayError } from "../wire/gateway-error.ts";
import { type HostSession, toHostSessions } from "../host/session.ts";
import { withTimeout } from "../wire/timeout.ts";
import { cleanText, toGatewayMessage } from "../wire/failure.ts";
import { recordConnectivity, storeConnectivity } from "../provisioning/connectivity.ts";
import { type ResolvedHost, resolveGateway, type TargetQuery } from "./resolve-target.ts";
import { isPullGatewayConnected } from "@board/core/agent/pull-gateway";
import { createSessionMapper, GatewaySession } from "./session-entry.ts";
import { ensureMainSession } from "./sessions.ts";
import { checkVersion, fetchVersion, type VersionVerdict } from "../wire/version.ts";
import { truncatable } from "@board/core/lists/large-fields";
import { lazyObject } from "@board/core/values/wire";

export const GatewayStatus = lazyObject(() => ({
  connected: z.boolean().describe("Whether the host answers and its version is supported."),
  gateway_url: z.string().describe("Address of the host."),
  version: z.string().nullable().describe("Version the host reports."),
  sessions_count: z.int().nullable().describe("Number of sessions; null when not connected."),
  sessions: z.array(GatewaySession).nullable().describe("The host's sessions; null when not connected."),
  main_session: GatewaySession.nullable().describe("Session of the gateway's main agent, if the query names a board."),
  main_session_error: z.string().nullable().describe("Why there is no main session although the query names a board."),
  error: z.string().nullable().describe("Why the host is not connected, or a warning if it is connected."),
  ...truncatable,
})).meta({ id: "GatewayStatus", description: "State of a host, as the host itself reports it now." });
export type GatewayStatus = z.infer<typeof GatewayStatus>;

/** Limit for all calls together. It is short, because a person waits for the result. */
const TIMEOUT_MS = 10_000;
/** Limit for the call about the main session. After a timeout of this call, the other results are still shown. */
const MAIN_SESSION_TIMEOUT_MS = 5_000;

/** What a host has reported so far. */
interface HostObservation {
  version: string | null;
  verdict: VersionVerdict | null;
  sessions: HostSession[];
  main: HostSession | null;
  main_error: GatewayError | null;
}

/**
 * Reads the host's current state within 10 s, without waiting for a restart of the host. A failure of the host is part of the
 * result and not an error (docs/reference/gateways.md#status-answers).
 */
export async function getGatewayStatus(ctx: Context<Admin>, query: TargetQuery): Promise<GatewayStatus> {
  const host = await resolveGateway(ctx, query);
  if (host.stored?.kind === "pull") {
    const connected = await isPullGatewayConnected(ctx, host.stored.id);
    return { ...NOT_CONNECTED, connected, gateway_url: "", version: null, error: null };
  }
  const include_main = query.board_id !== undefined;
  const observed: HostObservation = { version: null, verdict: null, sessions: [], main: null, main_error: null };
  const failure = await observeHost(ctx, host, include_main, observed);
  const { main, main_error } = observed;
  const version = observed.version && cleanText(observed.version);
  const common = { gateway_url: host.target.url, version };
  if (failure) {
    if (host.stored) await recordConnectivity(ctx, host.stored, failure);
    return { ...common, ...NOT_CONNECTED, error: toGatewayMessage(failure) };
  }
  const version_warning = !observed.verdict || observed.verdict.kind === "ok" ? null : cleanText(observed.verdict.message);
  if (host.stored) await storeConnectivity(ctx, host.stored, { connected: true, version, last_error: version_warning });
  if (observed.verdict?.kind === "incompatible") return { ...common, ...NOT_CONNECTED, error: version_warning };
  const toGatewaySession = await createSessionMapper(ctx, [...observed.sessions, main]);
  return {
    ...common,
    connected: true,
    sessions_count: observed.sessions.length,
    sessions: observed.sessions.map(toGatewaySession),
    main_session: main && toGatewaySession(main),
    main_session_error: main_error && toGatewayMessage(main_error),
    error: version_warning,
  };
}

const NOT_CONNECTED = { connected: false, sessions_count: null, sessions: null, main_session: null, main_session_error: null };

/** Reads the host's state into `observed`. Returns the host's error, or null. */
async function observeHost(
  ctx: Context,
  host: ResolvedHost,
  include_main: boolean,
  observed: HostObservation,
): Promise<GatewayError | null> {
  const observeWithRetry = () =>
    withTimeout(
      observeOnce().catch((error: unknown) => (isConnectionLost(error) ? observeOnce() : Promise.reject(error))),
      TIMEOUT_MS,
      "answer",
    );

  async function observeOnce(): Promise<void> {
    const { target } = host;
    const options = { timeout_ms: TIMEOUT_MS };
    observed.version = await fetchVersion(ctx.gateways, target, options);
    observed.verdict = checkVersion(observed.version, ctx.settings.gateway_min_version);
    if (observed.verdict.kind === "incompatible") return;
    observed.main_error = null;
    const [, listed] = await Promise.all([
      ctx.gateways.request(target, "health", {}, options),
      ctx.gateways.request(target, "sessions.list", {}, options),
      include_main ? observeMainSession() : undefined,
    ]);
    observed.sessions = toHostSessions(listed);
  }

  async function observeMainSession(): Promise<void> {
    try {
      observed.main = await withTimeout(ensureMainSession(ctx, host), MAIN_SESSION_TIMEOUT_MS, "answer sessions.patch");
    } catch (error) {
      observed.main_error = asGatewayError(error);
    }
  }

  return catchGatewayError(observeWithRetry);
}

/**
 * Returns whether an open connection was lost, perhaps long ago while it was idle. A new connection then shows the host's current
 * state.
 */
function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof GatewayError)) return false;
  const { unconnected, close_code, system_code } = error.failure;
  return !unconnected && (close_code ?? system_code ?? null) !== null;
}
