import { createHash } from "node:crypto";
import type { Actor, Role } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import { DomainError, requireDomainError, unauthenticated } from "@board/core/values/errors";
import {
  catchUp,
  type Follower,
  type Grant,
  type GrantResult,
  type StreamClient,
  type StreamPosition,
  resumeCursor,
  startPosition,
} from "@board/core/stream/follower";
import { type AddedStream, STREAM_RETRY_SECONDS, type StreamOwner } from "@board/core/stream/admission";
import { createHub, POLL_MS } from "@board/core/stream/hub";
import { createLeaseRegistry } from "@board/core/stream/lease-registry";
import { createProcessRegistry, type StreamLease } from "@board/core/stream/registry";
import { readBatch, type Source } from "@board/core/stream/source";
import type { Context as HonoContext } from "hono";
import { credentialOf, organizationOf, type StreamRequest, reauthenticate } from "../sign-in/authenticate.ts";
import type { BatchFollow, Env, Follow, Runtime, StreamOpener } from "../runtime.ts";
import { formatRetry, formatEvent, openConnection, PING_MS, SSE_HEADERS } from "./sse-connection.ts";
import type { UserVerifier } from "../sign-in/verified-identity.ts";

/** The approximate limit for a response that is not streamed. API Gateway allows 6 MB. */
const MAX_RESPONSE_CHARS = 1_000_000;
/** The time is longer than the pause that a client makes between two responses that are not streamed. */
const PAUSE_MS = 5_000;

/** Where a stream starts, what it follows, and for whom. */
interface StreamStart {
  source: Source | null;
  position: StreamPosition;
  horizon: bigint;
  grant: RequestGrant;
  owner: AddedStream;
}

export function createStreamOpener(runtime: Runtime, verifyUser: UserVerifier): StreamOpener {
  const { max_seconds, hold_seconds = 0, shutdown_signal, poll_ms = POLL_MS, ping_ms = PING_MS } = runtime.streams;
  const { count_in, process_id, lease_check_ms } = runtime.streams;
  const leaseOptions = { max_seconds: Math.max(max_seconds, hold_seconds), process_id, check_ms: lease_check_ms };
  const registry =
    count_in === "database" ? createLeaseRegistry(() => runtime.createContext(), leaseOptions) : createProcessRegistry();
  const hub = createHub(() => runtime.createContext(), poll_ms);
  runtime.changes?.listen((organizations) => hub.pollSoon(organizations));
  const open = new Set<() => void>();
  const reportCount = () => runtime.streams.onCount?.(open.size);
  const track = (end: () => void) => {
    open.add(end);
    reportCount();
  };
  const untrack = (end: () => void) => {
    if (open.delete(end)) reportCount();
  };
  shutdown_signal.addEventListener("abort", () => open.forEach((end) => end()));

  /**
   * Returns where a response that is not streamed starts if the client sends no position: early enough to contain what happened
   * during the client's pause.
   */
  const startOfPause = (ctx: Context) => (hold_seconds === 0 ? null : new Date(ctx.now().getTime() - PAUSE_MS));

  return async (c, role, since, follow, after = null) => {
    const { ctx } = c.var;
    const batchFollow = typeof follow === "function" ? toBatchFollow(follow) : follow;
    const [source = null] = await batchFollow.followAll(ctx, [ctx.actor]);
    if (source instanceof DomainError) throw source;
    if (c.req.raw.method === "HEAD") return new Response(null, { headers: SSE_HEADERS });
    const last_event_id = c.req.header("last-event-id") ?? null;
    const { position, horizon } = await startPosition(ctx, { after, last_event_id, since: since ?? startOfPause(ctx) });
    const ends = max_seconds === 0 || shutdown_signal.aborted;
    const grant = createGrant(c, role, batchFollow);
    const owner: AddedStream = { ...toOwner(ctx.actor, source), client_key: toClientKey(c, grant) };
    const body = ends
      ? await readOnce(ctx, { source, position, horizon, grant, owner })
      : openLiveBody(source, position, horizon, grant, await registry.acquire(ctx, owner));
    return new Response(body, { headers: SSE_HEADERS });
  };

  /** Returns all events up to now as one complete response, or waits for the first events. The client reconnects for more. */
  async function readOnce(ctx: Context, { source, position, horizon, grant, owner }: StreamStart): Promise<string> {
    const { organization_id } = grant;
    let text = "";
    const ended = Promise.withResolvers<{ retry_ms: number | null }>();
    const client: StreamClient = {
      isReady: () => text.length < MAX_RESPONSE_CHARS,
      send: (event) => {
        text += formatEvent(event, organization_id);
        ended.resolve({ retry_ms: poll_ms });
      },
      end: () => ended.resolve({ retry_ms: null }),
    };
    const follower: Follower = { ...position, source, grant, client };
    await catchUp(follower, (from, at) => readBatch(ctx, from, at, horizon));
    const end = (retry_ms: number) => ended.resolve({ retry_ms });
    if (text === "" && hold_seconds > 0) await hold(ctx, follower, { horizon, owner }, end, ended.promise);
    else end(poll_ms);
    const { retry_ms } = await ended.promise;
    return retry_ms === null ? text : text + formatRetry(resumeCursor(follower), retry_ms, organization_id);
  }

  /** Follows new rows until `ended` settles, but for at most `hold_seconds`. It occupies no database connection while it waits. */
  async function hold(
    ctx: Context,
    follower: Follower,
    { horizon, owner }: Pick<StreamStart, "horizon" | "owner">,
    endFor: (retry_ms: number) => void,
    ended: Promise<unknown>,
  ): Promise<void> {
    const lease = await registry.acquire(ctx, owner);
    const end = () => endFor(poll_ms);
    const giveWay = () => endFor(STREAM_RETRY_SECONDS * 1000);
    // The timer is not unref'd, because Node would end a Lambda function that has nothing else to do while it waits.
    const limit = setTimeout(end, hold_seconds * 1000);
    track(end);
    hub.add(follower, horizon);
    lease.replaced.addEventListener("abort", giveWay);
    if (lease.replaced.aborted) giveWay();
    if (shutdown_signal.aborted) end();
    await ended;
    clearTimeout(limit);
    untrack(end);
    hub.remove(follower);
    await lease.release();
  }

  function openLiveBody(
    source: Source | null,
    position: StreamPosition,
    horizon: bigint,
    grant: RequestGrant,
    lease: StreamLease,
  ): ReadableStream<Uint8Array> {
    const { organization_id } = grant;
    const handlers = {
      onWritable: () => hub.resume(follower),
      onClosed: () => {
        clearTimeout(limit);
        untrack(end);
        hub.remove(follower);
        return lease.release();
      },
    };
    const connection = openConnection(ping_ms, handlers, organization_id);
    const follower: Follower = { ...position, source, grant, client: connection };
    const endFor = (retry_ms: number) => connection.close(formatRetry(resumeCursor(follower), retry_ms, organization_id));
    const end = () => endFor(poll_ms);
    const giveWay = () => endFor(STREAM_RETRY_SECONDS * 1000);
    const limit = Number.isFinite(max_seconds) ? setTimeout(end, max_seconds * 1000).unref() : undefined;
    track(end);
    hub.add(follower, horizon);
    lease.replaced.addEventListener("abort", giveWay);
    // The stream may have been replaced, or the process stopped, while the stream was being opened.
    if (lease.replaced.aborted) giveWay();
    if (shutdown_signal.aborted) end();
    return connection.body;
  }

  /**
   * Creates the grant that is renewed at every poll with the caller's current permissions. The stream keeps its organization, even
   * if a different one becomes active later.
   */
  function createGrant(c: HonoContext<Env>, role: Role, batchFollow: BatchFollow): RequestGrant {
    const { headers } = c.req.raw;
    const url = new URL(c.req.url);
    // These parameters only affect where a stream starts and which stream it replaces, so callers with different values can share
    // queries.
    for (const name of ["since", "cursor", "client_id"]) url.searchParams.delete(name);
    const kind = url.pathname + url.search;
    const organization_id = organizationOf(role, c.var.ctx.actor);
    // Streams with the same key share one renewal, so the key must distinguish all callers, including those with a session cookie.
    const key = digestOf([kind, organization_id, credentialOf(c.var.ctx, role, headers)]);
    const renew = (grants: readonly RequestGrant[]) => renewGrants(role, batchFollow, grants);
    return { key, kind, renew, headers, organization_id };
  }

  async function renewGrants(role: Role, batchFollow: BatchFollow, grants: readonly RequestGrant[]): Promise<GrantResult[]> {
    const ctx = runtime.createContext();
    const actors = await reauthenticate(ctx, role, grants, verifyUser);
    const callers = actors.map((actor) => (actor ? catchDomainError(() => role.narrow(actor, ctx.settings)) : unauthenticated()));
    const accepted = callers.filter((caller): caller is Actor => !(caller instanceof DomainError));
    const results = (await batchFollow.followAll(ctx, accepted)).values();
    return callers.map((caller) => (caller instanceof DomainError ? caller : (results.next().value as GrantResult)));
  }
}

/** Identifies the client and what it follows. Different tokens of one caller count as the same client. */
function toClientKey(c: HonoContext<Env>, { kind, organization_id }: RequestGrant): string | null {
  const client_id = c.req.query("client_id");
  return client_id === undefined ? null : digestOf([client_id, kind, organization_id]);
}

/** Returns the owner of a stream. A stream without a source belongs to the organization of the caller. */
function toOwner(actor: Actor, source: Source | null): StreamOwner {
  if (actor.type !== "user" && actor.type !== "agent") throw unauthenticated();
  const own = actor.type === "agent" ? actor.organization_id : (actor.active?.organization_id ?? null);
  const caller_id = actor.type === "agent" ? actor.agent_id : actor.user_id;
  return { caller_id, organization_id: source?.organization_id ?? own };
}

type RequestGrant = Grant & StreamRequest;

const toBatchFollow = (follow: Follow): BatchFollow => ({
  async followAll(ctx, callers) {
    const results: GrantResult[] = [];
    for (const actor of callers) results.push(await follow({ ...ctx, actor }).catch(requireDomainError));
    return results;
  },
});

function catchDomainError<T>(work: () => T): T | DomainError {
  try {
    return work();
  } catch (error) {
    return requireDomainError(error);
  }
}

const digestOf = (parts: unknown[]) => createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
