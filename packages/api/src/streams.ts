import { createHash } from "node:crypto";
import { type Actor, as, type Role } from "@board/core/actor";
import type { Context } from "@board/core/context";
import { catchUp, type Follower, type Grant, type Place, resumeAt, startAt } from "@board/core/stream/follower";
import { createHub, POLL_MS } from "@board/core/stream/hub";
import { readBatch, type Source, type StreamEvent } from "@board/core/stream/source";
import type { Context as HonoContext } from "hono";
import type { Env, Runtime } from "./app.ts";
import { reauthenticate, type VerifyUser } from "./authenticate.ts";
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

/** Opens the stream that a request asks for. */
export type OpenStream = (c: HonoContext<Env>, role: Role, since: Date | null, follow: Follow) => Promise<Response>;

/** Where answers are not streamed, one holds at most about this much: API Gateway takes 6 MB. */
const MAX_ANSWER_CHARS = 1_000_000;

export function createStreams(runtime: Runtime, verifyUser: VerifyUser): OpenStream {
  const { max_seconds, stopping, poll_ms = POLL_MS, ping_ms = PING_MS } = runtime.streams;
  const hub = createHub(() => runtime.context(), poll_ms);
  const open = new Set<() => void>();
  stopping.addEventListener("abort", () => open.forEach((end) => end()));

  return async (c, role, since, follow) => {
    const { ctx } = c.var;
    const source = await follow(ctx);
    if (c.req.raw.method === "HEAD") return new Response(null, { headers: SSE_HEADERS });
    const { place, below } = await startAt(ctx, { last_event_id: c.req.header("last-event-id") ?? null, since });
    const ends = max_seconds === 0 || stopping.aborted;
    const body = ends ? await readOnce(ctx, source, place, below) : live(source, place, below, grantOf(c, role, follow));
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
  function grantOf(c: HonoContext<Env>, role: Role, follow: Follow): Grant {
    const { headers } = c.req.raw;
    const { log } = c.var.ctx;
    return {
      key: grantKey(c.req.raw),
      async renew() {
        const ctx = { ...runtime.context(), log };
        return follow(as({ ...ctx, actor: await reauthenticate(ctx, role, headers, verifyUser) }, role));
      },
    };
  }
}

/** The same for requests that have the same credentials and ask for the same; where they start does not matter. */
function grantKey(request: Request): string {
  const url = new URL(request.url);
  url.searchParams.delete("since");
  const parts = [url.pathname, url.search, request.headers.get("authorization"), request.headers.get("x-agent-token")];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
}
