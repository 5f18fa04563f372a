import type { Actor, Public, Role } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import type { Settings } from "@board/core/config/settings";
import type { Cursor } from "@board/core/stream/cursor";
import type { GrantResult } from "@board/core/stream/follower";
import type { Source } from "@board/core/stream/source";
import type { Context as HonoContext, Hono } from "hono";
import type { RequestBody } from "./edge/body.ts";
import type { PublicFiles } from "./edge/public-file.ts";
import type { RequestTurn } from "./edge/request-turn.ts";

/** Everything that differs between Lambda, the local server and the tests. The app gets it when it is created. */
export interface Runtime {
  settings: Settings;
  /** Whether all requests share one connection to the database, as with the embedded one. */
  shares_connection?: boolean;
  /** Creates the context of one request: no actor is signed in and no wake-up is pending. */
  createContext(): Context<Public>;
  /** Sends wake-ups for the jobs that a request has stored. Never fails the request. */
  relay(ctx: Context): Promise<void>;
  /** Returns the address of the socket's peer, which may be a proxy; null when it is unknown. */
  peerAddress(c: HonoContext): string | null;
  /** Gets the address of a proxy that TRUSTED_PROXIES does not list. */
  noteProxy?: (address: string) => void;
  /** Reads a static file of the API reference page. */
  readAsset(name: string): Promise<Uint8Array>;
  /** Reads a file of the built console. Fails with ENOENT for one that does not exist. */
  readConsoleFile(name: string): Promise<Uint8Array>;
  streams: StreamOptions;
}

/** How a platform delivers server-sent event streams. */
export interface StreamOptions {
  /** Seconds after which a stream ends and its client reconnects; 0 where responses cannot be streamed. */
  max_seconds: number;
  /** Where responses cannot be streamed: seconds for which a response waits for its first event. 0 by default. */
  hold_seconds?: number;
  /** Aborted when the process stops, which ends all streams at once. */
  shutdown_signal: AbortSignal;
  /** Where open streams and waiting responses are counted: in the process by default. In the database they need a time limit. */
  count_in?: "process" | "database";
  poll_ms?: number;
  ping_ms?: number;
  lease_check_ms?: number;
}

/** The types of Hono's context: what middleware stores for the handlers. */
export interface Env {
  Variables: {
    ctx: Context;
    request_id: string;
    client_address: string;
    body: RequestBody;
    runtime: Runtime;
    openStream: StreamOpener;
    publicFile: PublicFiles;
    turn: RequestTurn;
    /** The challenge of a 401 response that names the sign-in metadata. */
    resource_metadata?: string;
  };
}

export type App = Hono<Env>;

export type OpenApiDocument = Record<string, unknown>;

/** Returns what the caller may follow now, or null while there is nothing; throws when access is denied. Runs at every poll. */
export type Follow<A extends Actor = Actor> = (ctx: Context<A>) => Promise<Source | null>;

/** Does the same for many callers with few statements, for streams that many callers are expected to share. */
export interface BatchFollow<A extends Actor = Actor> {
  followAll(ctx: Context, callers: readonly A[]): Promise<GrantResult[]>;
}

/** Opens the stream that a request asks for. */
export type StreamOpener = (
  c: HonoContext<Env>,
  role: Role,
  since: Date | null,
  follow: Follow | BatchFollow,
  /** Where to start, when the operation has checked the position itself. */
  after?: Cursor | null,
) => Promise<Response>;
