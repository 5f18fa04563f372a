import * as z from "zod";
import type { Admin } from "../actor.ts";
import type { Context } from "../context.ts";
import { GatewayError } from "./client.ts";
import { within } from "./deadline.ts";
import { cleanText, toGatewayMessage } from "./failure.ts";
import { recordReach, storeReach } from "./reach.ts";
import { type NamedHost, resolveTarget, type TargetQuery } from "./resolve-target.ts";
import { agentsOf, GatewaySession, type HostSession, toHostSessions } from "./session-entry.ts";
import { ensureMain } from "./sessions.ts";
import { checkVersion, readVersion, type VersionVerdict } from "./version.ts";

export const GatewayStatus = z
  .object({
    connected: z.boolean().describe("Whether the host answers, and its version is one this service works with."),
    gateway_url: z.string().describe("Address of the host."),
    version: z.string().nullable().describe("Version the host reports."),
    sessions_count: z.int().nullable().describe("How many sessions it has; null when not connected."),
    sessions: z.array(GatewaySession).nullable().describe("Its sessions; null when not connected."),
    main_session: GatewaySession.nullable().describe("That of the gateway's main agent, when a board was named."),
    main_session_error: z.string().nullable().describe("Why there is none although a board was named."),
    error: z.string().nullable().describe("Why the host is not connected; a warning when it is."),
  })
  .meta({ id: "GatewayStatus", description: "Whether a host can be worked with, asked of the host itself." });
export type GatewayStatus = z.infer<typeof GatewayStatus>;

/** For everything together: somebody looks at a screen. */
const LIMIT_MS = 10_000;
/** For the main session alone, without which there is still something to show. */
const MAIN_LIMIT_MS = 5_000;

/** What a host showed, as far as it came. */
interface Sight {
  version: string | null;
  verdict: VersionVerdict | null;
  sessions: HostSession[];
  main: HostSession | null;
  main_error: GatewayError | null;
}

/**
 * Asks the host how it is, at most 10 s and without patience: a host that is away is told as it is now. Whatever the
 * host does is an answer and no error.
 */
export async function getGatewayStatus(ctx: Context<Admin>, query: TargetQuery): Promise<GatewayStatus> {
  const host = await resolveTarget(ctx, query);
  const wants_main = query.board_id !== undefined;
  const seen: Sight = { version: null, verdict: null, sessions: [], main: null, main_error: null };
  const failed = await lookAt(ctx, host, wants_main, seen);
  const { main, main_error } = seen;
  const version = seen.version && cleanText(seen.version);
  const told = { gateway_url: host.target.url, version };
  if (failed) {
    if (host.saved) await recordReach(ctx, host.saved, failed);
    return { ...told, ...UNCONNECTED, error: toGatewayMessage(failed) };
  }
  const objection = !seen.verdict || seen.verdict.kind === "ok" ? null : cleanText(seen.verdict.message);
  if (host.saved) await storeReach(ctx, host.saved, { connected: true, version, last_error: objection });
  if (seen.verdict?.kind === "incompatible") return { ...told, ...UNCONNECTED, error: objection };
  const describe = await agentsOf(ctx, [...seen.sessions, main]);
  return {
    ...told,
    connected: true,
    sessions_count: seen.sessions.length,
    sessions: seen.sessions.map(describe),
    main_session: main && describe(main),
    main_session_error: main_error && toGatewayMessage(main_error),
    error: objection,
  };
}

const UNCONNECTED = { connected: false, sessions_count: null, sessions: null, main_session: null, main_session_error: null };

/** Fills `seen`; returns why it could not. */
async function lookAt(ctx: Context, host: NamedHost, wants_main: boolean, seen: Sight): Promise<GatewayError | null> {
  const looking = () =>
    within(
      once().catch((error: unknown) => (wasLost(error) ? once() : Promise.reject(error))),
      LIMIT_MS,
      "answer",
    );

  async function once(): Promise<void> {
    const { target } = host;
    const options = { timeout_ms: LIMIT_MS };
    seen.version = await readVersion(ctx.gateways, target, options);
    seen.verdict = checkVersion(seen.version, ctx.settings.gateway_min_version);
    if (seen.verdict.kind === "incompatible") return;
    seen.main_error = null;
    const [, listed] = await Promise.all([
      ctx.gateways.request(target, "health", {}, options),
      ctx.gateways.request(target, "sessions.list", {}, options),
      wants_main ? main() : undefined,
    ]);
    seen.sessions = toHostSessions(listed);
  }

  async function main(): Promise<void> {
    try {
      seen.main = await within(ensureMain(ctx, host), MAIN_LIMIT_MS, "answer sessions.patch");
    } catch (error) {
      seen.main_error = failure(error);
    }
  }

  try {
    await looking();
    return null;
  } catch (error) {
    return failure(error);
  }
}

/** A failure of the host is a value here; any other is passed on. */
function failure(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  throw error;
}

/** An open connection broke: it may have died long before, while nobody used it. A fresh one tells how the host is now. */
function wasLost(error: unknown): boolean {
  if (!(error instanceof GatewayError)) return false;
  const { unconnected, close_code, system_code } = error.failure;
  return !unconnected && (close_code ?? system_code ?? null) !== null;
}
