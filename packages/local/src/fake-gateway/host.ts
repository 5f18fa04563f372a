import type { ConfigStore } from "./config.ts";
import type { DeviceStore } from "./pairing.ts";
import type { Dialect } from "./dialect.ts";
import type { Faults } from "./faults.ts";
import type { Check } from "./schema.ts";

export interface FakeGatewayOptions {
  /** 0 takes a free port, which is kept over `stop()` and `start()`. */
  port?: number;
  host?: string;
  /** The shared secret clients present; a host without one lets nobody in by token. */
  token: string | null;
  /** What the hello says as `server.version`: by default the release, `dev` for a development build, null for nothing. */
  version?: string | null;
  /** `gateway.controlUi.allowInsecureAuth`: a control UI needs no device, where the release still has the flag. */
  insecure_control_ui?: boolean;
  /** Treats every client as a remote one, so that devices must be approved. */
  remote?: boolean;
  allowed_origins?: readonly string[];
  /** Bytes per message, instead of the release's own limit. */
  max_payload?: number;
  /** What an agent answers to a message; null is silence. */
  reply?: (message: ChatMessage) => string | null;
  /** Milliseconds. A real host restarts about 500 after a write, is away 100 and answers 503 for a moment more. */
  timings?: Partial<Timings>;
}

export interface Timings {
  restart_delay: number;
  downtime: number;
  starting: number;
  tick: number;
  /** How long agents.* calls lag behind a write, instead of the release's own time. */
  stale: number;
}

/** A message accepted by chat.send; a repeated idempotency key is no second one. */
export interface ChatMessage {
  session_key: string;
  message: string;
  deliver: boolean;
  idempotency_key: string;
  at: number;
}

export interface SessionEntry {
  sessionId: string;
  updatedAt: number;
  label?: string;
  messages: { role: "user" | "assistant" | "system"; content: { type: "text"; text: string }[]; timestamp: number }[];
}

/** A connected client as methods see it. */
export interface Client {
  id: string;
  scopes: readonly string[];
  /** Whose config.patch calls are counted together. */
  limit_key: string;
}

/** Everything a host remembers. It outlives restarts and outages, as a real host's disk does. */
export interface Host {
  dialect: Dialect;
  version: string;
  options: FakeGatewayOptions;
  faults: Faults;
  config: ConfigStore;
  devices: DeviceStore;
  /** Workspace path, then file name. Two agents may share a workspace. */
  files: Map<string, Map<string, { content: string; updatedAtMs: number }>>;
  /** Workspaces whose first conversation is over. */
  set_up: Set<string>;
  sessions: Map<string, SessionEntry>;
  /** When each agent was created. */
  created: Map<string, number>;
  runs: Map<string, "in_flight" | "ok">;
  /** Runs that take their time, by id: whose they are, and what ends them. */
  running: Map<string, { session_key: string; end: () => void }>;
  patches: Map<string, number[]>;
  messages: ChatMessage[];
  broadcast(event: string, payload: unknown): void;
  heard(message: ChatMessage): void;
  /** The process dies: every connection is cut, and nobody listens until the gateway is started again. */
  crash(): void;
}

/** One RPC: what it accepts, who may call it, what it does. `writes` names the restart rule it falls under. */
export interface Method {
  params: (dialect: Dialect) => Check;
  /** Null: any connected client. */
  scope: (dialect: Dialect) => string | null;
  writes?: "agents" | "config_patch";
  /** `params` have passed the schema; `never` lets each method name the shape it gets. */
  run(host: Host, params: never, client: Client): unknown;
}

export const anyone = () => null;
export const read = () => "operator.read";
export const write = () => "operator.write";
export const admin = () => "operator.admin";
export const pairing = () => "operator.pairing";
