import type { Actor, Public, Role } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import type { Settings } from "@board/core/config/settings";
import type { Cursor } from "@board/core/stream/cursor";
import type { GrantResult } from "@board/core/stream/follower";
import type { Source } from "@board/core/stream/source";
import type { Context as HonoContext, Hono } from "hono";
import type { RequestBody } from "./edge/body.ts";
import type { PublicFiles } from "./edge/public-file.ts";
import type { RequestSlot } from "./edge/request-slot.ts";
import type { LoadAccounts } from "./sign-in/accounts.ts";

/** Everything that differs between Lambda, the local server and the tests. The app receives it when it is created. */
export interface Runtime {
  settings: Settings;
  /** Whether all requests share one connection to the database, as with the embedded database. */
  shares_connection?: boolean;
  /** Creates the context of one request, without a signed-in actor and without pending wake-ups. */
  createContext(): Context<Public>;
  /** Sends wake-ups for the jobs that a request has stored. If that fails, the request does not fail. */
  relay(ctx: Context): Promise<void>;
  /** Returns the address of the socket's peer, which may be a proxy; null if it is not known. */
  peerAddress(c: HonoContext): string | null;
  /** Called with the address of a proxy that TRUSTED_PROXIES does not list. */
  recordUntrustedProxy?: (address: string) => void;
  /** Reads a static file of the API reference page. */
  readAsset(name: string): Promise<Uint8Array>;
  /** Reads a file of the built console. Rejects with ENOENT if the file does not exist. */
  readConsoleFile(name: string): Promise<Uint8Array>;
  streams: StreamOptions;
  /** Opens the accounts of people in accounts mode. It is called at first use. */
  openAccounts?: LoadAccounts;
  /** How processes notify each other of changes. Without it, streams find changes only by polling. */
  changes?: ChangeHints;
}

/** Hints that rows of organizations have changed. They may be lost, so nothing depends on them. */
interface ChangeHints {
  /** Records a committed change. Never throws. */
  note(organization_id: string): void;
  listen(onChange: (organizations: ReadonlySet<string>) => void): void;
}

/** How a platform delivers server-sent event streams. */
interface StreamOptions {
  /** Seconds after which a stream ends and its client reconnects; 0 if responses cannot be streamed. */
  max_seconds: number;
  /** If responses cannot be streamed: for how many seconds a response waits for its first event. 0 by default. */
  hold_seconds?: number;
  /** Aborted when the process stops, which ends all streams at once. */
  shutdown_signal: AbortSignal;
  /**
   * Where open streams and waiting responses are counted; by default in the process. Counting in the database needs a time limit
   * for streams, or a `process_id`.
   */
  count_in?: "process" | "database";
  /**
   * With `count_in: "database"`, the id of this process. While the process is running, it renews the entries of its streams, so
   * that they need no time limit.
   */
  process_id?: string;
  poll_ms?: number;
  ping_ms?: number;
  lease_check_ms?: number;
  /** Called with the number of open streams of this process, whenever that changes. */
  onCount?: (open: number) => void;
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
    slot: RequestSlot;
    /** The path of the operation, with names instead of ids. */
    route?: string;
    /** The challenge of a 401 response, which contains the address of the sign-in metadata. */
    resource_metadata?: string;
  };
}

export type App = Hono<Env>;

export type OpenApiDocument = Record<string, unknown>;

/**
 * Returns what the caller may follow now, or null if there is nothing to follow. Throws if access is denied. Runs at every poll.
 */
export type Follow<A extends Actor = Actor> = (ctx: Context<A>) => Promise<Source | null>;

/** Does the same as `Follow` for many callers with few statements. It is used for streams that many callers probably follow. */
export interface BatchFollow<A extends Actor = Actor> {
  followAll(ctx: Context, callers: readonly A[]): Promise<GrantResult[]>;
}

/** Opens the stream that a request asked for. */
export type StreamOpener = (
  c: HonoContext<Env>,
  role: Role,
  since: Date | null,
  follow: Follow | BatchFollow,
  /** The position at which the stream starts. Set only if the operation itself has checked it. */
  after?: Cursor | null,
) => Promise<Response>;
