import { createHash } from "node:crypto";
import type { Actor, Role } from "@board/core/actor";
import type { Context } from "@board/core/context";
import { DomainError, unauthenticated } from "@board/core/errors";
import { catchUp, type Follower, type Grant, type Granted, type Place, resumeAt, startAt } from "@board/core/stream/follower";
import { createHub, POLL_MS } from "@board/core/stream/hub";
import { readBatch, type Source, type StreamEvent } from "@board/core/stream/source";
import type { Context as HonoContext } from "hono";
import type { Env, Runtime } from "./app.ts";
import { type OpenRequest, reauthenticate, type VerifyUser } from "./authenticate.ts";
import { farewell, frame, openConnection, PING_MS, SSE_HEADERS } from "./sse.ts";

/** How an edge carries streams. */
export interface StreamEdge {
  /** After so many seconds a stream is ended, for its client to resume; 0 where answers are not streamed at all. */
  max_seconds: number;
  /** Aborted when the process stops: all streams end at once. */
  stopping: AbortSignal;
  poll_ms?: number;
  ping_ms?: number;
}

/** Says what a caller may follow at this moment, or throws; null is silence for now. Asked at every poll. */
export type Follow<A extends Actor = Actor> = (ctx: Context<A>) => Promise<Source | null>;

/** The same for many callers by few statements, where many of them can be expected to follow the same. */
export interface FollowTogether<A extends Actor = Actor> {
  together(ctx: Context, callers: readonly A[]): Promise<Granted[]>;
}

/** Opens the stream that a request asks for. */
export type OpenStream = (
  c: HonoContext<Env>,
  role: Role,
  since: Date | null,
  follow: Follow | FollowTogether,
) => Promise<Response>;

/** Where answers are not streamed, one holds at most about this much: API Gateway takes 6 MB. */
const MAX_ANSWER_CHARS = 1_000_000;

export function createStreams(runtime: Runtime, verifyUser: VerifyUser): OpenStream {
  const { max_seconds, stopping, poll_ms = POLL_MS, ping_ms = PING_MS } = runtime.streams;
  const hub = createHub(() => runtime.context(), poll_ms);
  const open = new Set<() => void>();
  stopping.addEventListener("abort", () => open.forEach((end) => end()));

  return async (c, role, since, follow) => {
    const { ctx } = c.var;
    const ask = typeof follow === "function" ? oneByOne(follow) : follow;
    const [source = null] = await ask.together(ctx, [ctx.actor]);
    if (source instanceof DomainError) throw source;
    if (c.req.raw.method === "HEAD") return new Response(null, { headers: SSE_HEADERS });
    const { place, below } = await startAt(ctx, { last_event_id: c.req.header("last-event-id") ?? null, since });
    const ends = max_seconds === 0 || stopping.aborted;
    const body = ends ? await readOnce(ctx, source, place, below) : live(source, place, below, grantOf(c, role, ask));
    return new Response(body, { headers: SSE_HEADERS });
  };

  /** What is there now, as a whole answer; the client comes back for more. */
  async function readOnce(ctx: Context, source: Source | null, place: Place, below: bigint): Promise<string> {
    let text = "";
    const client = {
      ready: () => text.length < MAX_ANSWER_CHARS,
      send: (event: StreamEvent) => {
        text += frame(event);
      },
    };
    const reader = { ...place, source, client };
    await catchUp(reader, (from, at) => readBatch(ctx, from, at, below));
    return text + farewell(resumeAt(reader), poll_ms);
  }

  function live(source: Source | null, place: Place, below: bigint, grant: Grant): ReadableStream<Uint8Array> {
    const connection = openConnection(ping_ms, {
      room: () => hub.resume(follower),
      gone: () => {
        clearTimeout(limit);
        open.delete(end);
        hub.remove(follower);
      },
    });
    const follower: Follower = { ...place, source, grant, client: connection };
    const end = () => connection.close(farewell(resumeAt(follower), poll_ms));
    const limit = Number.isFinite(max_seconds) ? setTimeout(end, max_seconds * 1000).unref() : undefined;
    open.add(end);
    hub.add(follower, below);
    return connection.body;
  }

  /** The request once more, with today's rights and without its effects. */
  function grantOf(c: HonoContext<Env>, role: Role, ask: FollowTogether): Grant {
    const { headers } = c.req.raw;
    const url = new URL(c.req.url);
    // Where somebody starts does not matter.
    url.searchParams.delete("since");
    const kind = url.pathname + url.search;
    const key = digestOf([kind, headers.get("authorization"), headers.get("x-agent-token")]);
    const renew = (grants: readonly RequestGrant[]) => renewed(role, ask, grants);
    const grant: RequestGrant = { key, kind, renew, headers };
    return grant;
  }

  async function renewed(role: Role, ask: FollowTogether, grants: readonly RequestGrant[]): Promise<Granted[]> {
    const ctx = runtime.context();
    const actors = await reauthenticate(ctx, role, grants, verifyUser);
    const callers = actors.map((actor) => (actor ? unlessRefused(() => role.narrow(actor, ctx.settings)) : unauthenticated()));
    const good = callers.filter((caller): caller is Actor => !(caller instanceof DomainError));
    const granted = (await ask.together(ctx, good)).values();
    return callers.map((caller) => (caller instanceof DomainError ? caller : (granted.next().value as Granted)));
  }
}

type RequestGrant = Grant & OpenRequest;

const oneByOne = (follow: Follow): FollowTogether => ({
  async together(ctx, callers) {
    const granted: Granted[] = [];
    for (const actor of callers) granted.push(await follow({ ...ctx, actor }).catch(refusal));
    return granted;
  },
});

function unlessRefused<T>(work: () => T): T | DomainError {
  try {
    return work();
  } catch (error) {
    return refusal(error);
  }
}

function refusal(error: unknown): DomainError {
  if (error instanceof DomainError) return error;
  throw error;
}

const digestOf = (parts: unknown[]) => createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
