import type { ConfigStore } from "./config.ts";
import type { Dialect } from "./dialect.ts";
import type { Faults } from "./faults.ts";
import type { Validator } from "./validators.ts";

export interface FakeGatewayOptions {
  /** The port. 0 selects a free port, which `stop()` and `start()` keep. */
  port?: number;
  host?: string;
  /** The shared secret of clients. If it is null, no client can connect with a token. */
  token: string | null;
  /** The `server.version` of the hello: by default the release, `dev` for a development build, null to omit it. */
  version?: string | null;
  /** The setting `gateway.controlUi.allowInsecureAuth`: a control UI needs no device, in releases that have the setting. */
  allow_insecure_control_ui?: boolean;
  /** Treats every client as remote, so that its device needs an approval. */
  remote?: boolean;
  /** Maximum bytes per message. The default is the limit of the release. */
  max_payload?: number;
  /** Returns the reply of an agent to a message, or null for no reply. */
  reply?: (message: ChatMessage) => string | null;
  /** Milliseconds. A real host restarts about 500 ms after a write, is down for 100 ms, then briefly responds with 503. */
  timings?: Partial<Timings>;
}

interface Timings {
  restart_delay: number;
  downtime: number;
  starting: number;
  tick: number;
  /** Milliseconds by which agents.* calls lag behind a write. The default depends on the release. */
  stale: number;
}

/** A message accepted by chat.send. A repeated idempotency key does not add another one. */
export interface ChatMessage {
  session_key: string;
  /** The text as it was sent. */
  message: string;
  /** The text that the agent gets, or null when the host took the whole message for a command. */
  seen: string | null;
  deliver: boolean;
  idempotency_key: string;
  at: number;
}

export interface SessionEntry {
  sessionId: string;
  updatedAt: number;
  label?: string;
  messages: { role: "user" | "assistant" | "system"; content: { type: "text"; text: string }[]; timestamp: number }[];
  /** What its runs have used so far, by model; by default a token for each message and its answer. */
  usage?: { provider: string; model: string; totals: Record<string, number> }[];
  /** Set while the host is still counting. It then reports what it had counted before: nothing, or `usage`. */
  counting?: "nothing" | "usage";
}

export interface PairedDevice {
  deviceId: string;
  publicKey: string;
  scopes: readonly string[];
  /** Accepted instead of the shared token once the device is approved. */
  token: string;
}

export interface PairingRequest {
  requestId: string;
  deviceId: string;
  publicKey: string;
  scopes: readonly string[];
  ts: number;
}

export interface DeviceStore {
  paired: Map<string, PairedDevice>;
  /** Pairing requests by device id. A device that asks again before a decision gets its existing request. */
  pending: Map<string, PairingRequest>;
}

/** A connected client, as methods see it. */
export interface Client {
  id: string;
  scopes: readonly string[];
  /** Clients with the same key share the limit of config.patch calls. */
  rate_limit_key: string;
}

/** The state of a host. It survives restarts and outages, like the disk of a real host. */
export interface Host {
  dialect: Dialect;
  version: string;
  options: FakeGatewayOptions;
  faults: Faults;
  config: ConfigStore;
  devices: DeviceStore;
  /** Files by workspace path and then by name. Agents may share a workspace. */
  files: Map<string, Map<string, { content: string; updatedAtMs: number }>>;
  /** Workspaces whose BOOTSTRAP.md has been deleted after the first conversation. */
  bootstrapped_workspaces: Set<string>;
  sessions: Map<string, SessionEntry>;
  /** When each agent was created. */
  created_at: Map<string, number>;
  runs: Map<string, "in_flight" | "ok">;
  /** Runs in progress by id: their session, and the function that ends them. */
  active_runs: Map<string, { session_key: string; end: () => void }>;
  recent_patches: Map<string, number[]>;
  messages: ChatMessage[];
  /** Commands in messages that the host has obeyed. */
  obeyed: { session_key: string; order: string }[];
  /**
   * Settings that these commands have changed. A key consists of the session key and the name of the setting, or only of the name
   * if the setting applies to all sessions.
   */
  settings: Map<string, string>;
  broadcast(event: string, payload: unknown): void;
  onMessageAccepted(message: ChatMessage): void;
  /** Simulates a crash: closes every connection and stops listening until the gateway is started again. */
  crash(): void;
}

/** One RPC method: schema, required scope and implementation. `writes` selects the restart rule that applies. */
export interface Method {
  params: (dialect: Dialect) => Validator;
  /** The required scope; null for any connected client. */
  scope: (dialect: Dialect) => string | null;
  writes?: "agents" | "config_patch";
  /** `params` are valid. Their type is `never`, so that each method can declare its own. */
  run(host: Host, params: never, client: Client): unknown;
}

export const anyScope = () => null;
export const readScope = () => "operator.read";
export const writeScope = () => "operator.write";
export const adminScope = () => "operator.admin";
export const pairingScope = () => "operator.pairing";
