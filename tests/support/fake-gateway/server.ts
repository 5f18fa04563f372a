import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import type { WebSocket } from "ws";
import { appendMessage } from "./chat.ts";
import { createConfigStore } from "./config.ts";
import type { RecordedCall } from "./connection.ts";
import { handleConnection } from "./connection.ts";
import type { DialectName } from "./dialect.ts";
import { dialects } from "./dialect.ts";
import type { Faults } from "./faults.ts";
import { noFaults } from "./faults.ts";
import type { ChatMessage, FakeGatewayOptions, Host } from "./host.ts";
import type { Listener } from "./listener.ts";
import { listen } from "./listener.ts";
import { createDeviceStore } from "./pairing.ts";
import type { RpcErrorBody } from "./rpc-error.ts";

const TIMINGS = { restart_delay: 500, downtime: 100, starting: 50, tick: 30_000 };

export interface FakeGateway {
  url: string;
  port: number;
  /** The state of the host, which tests may read and prepare. */
  host: Host;
  faults: Faults;
  /** All valid request frames including `connect`, in order of arrival. */
  calls: RecordedCall[];
  /** Messages to agents, one per idempotency key. */
  messages: ChatMessage[];
  connections: { opened: number; open: number };
  /** Calls `listener` for each message after the response to chat.send. Returns the function that unsubscribes it. */
  onMessage(listener: (message: ChatMessage) => void): () => void;
  /** Makes the next `times` calls of a method fail with this error. */
  failNext(method: string, error: Partial<RpcErrorBody> & { message: string }, times?: number): void;
  /** Sends an unsolicited message of an agent. */
  sendAgentMessage(session_key: string, text: string): void;
  /** Restarts: shutdown event, close code 1012, refused connections, then 503 for a moment. */
  restart(): Promise<void>;
  /** Simulates an outage: closes every connection and refuses new ones until `start()`. */
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a fake gateway on loopback. It behaves like the selected release, and faults can be injected. */
export async function startFakeGateway(allOptions: FakeGatewayOptions & { dialect?: DialectName }): Promise<FakeGateway> {
  const { dialect: version = "2026.2.9", ...options } = allOptions;
  const timings = { ...TIMINGS, ...options.timings };
  const address = options.host ?? "127.0.0.1";
  const listeners = new Set<(message: ChatMessage) => void>();
  const sockets = new Set<WebSocket>();
  const connected = new Set<WebSocket>();
  const calls: RecordedCall[] = [];
  const connections = { opened: 0, open: 0 };
  const host = createHost(version, options, {
    broadcast(event, payload) {
      for (const socket of connected) socket.send(JSON.stringify({ type: "event", event, payload }));
    },
    onMessageAccepted(message) {
      for (const listener of listeners) listener(message);
    },
    crash: () => void stop(),
  });
  const max_payload = options.max_payload ?? host.dialect.max_payload;
  let starting = false;
  let restarting: Promise<void> | null = null;
  const open = (port: number): Promise<Listener> =>
    listen({
      port,
      host: address,
      max_payload,
      rejectStatus({ headers }) {
        const forwarded = host.dialect.protocol === 4 && headers["x-forwarded-for"] !== undefined;
        return host.faults.upgrade_status ?? (starting ? 503 : forwarded ? 403 : null);
      },
      accept,
    });
  let listener: Listener | null = await open(options.port ?? 0);
  const { port } = listener;

  function accept(socket: WebSocket, request: Parameters<typeof handleConnection>[2]): void {
    connections.opened += 1;
    connections.open += 1;
    sockets.add(socket);
    // A frame that is too large raises an error here. The close event that follows is enough.
    socket.on("error", () => {});
    socket.on("close", () => {
      connections.open -= 1;
      sockets.delete(socket);
      connected.delete(socket);
    });
    handleConnection(host, socket, request, {
      connection_number: connections.opened,
      max_payload,
      tick_ms: timings.tick,
      record: (call) => calls.push(call),
      onConnected: () => connected.add(socket),
      restart: (when) => void (when === "now" ? restart() : setTimeout(() => void restart(), timings.restart_delay).unref()),
    });
  }

  /** Restarts the host. A call during a restart waits for the running restart instead of starting another. */
  function restart(): Promise<void> {
    restarting ??= performRestart().finally(() => {
      restarting = null;
    });
    return restarting;
  }

  async function performRestart(): Promise<void> {
    if (listener === null) return;
    host.broadcast("shutdown", { reason: "gateway restarting", restartExpectedMs: 1500 });
    listener.stopAccepting();
    const closed = Promise.all([...sockets].map((socket) => once(socket, "close")));
    for (const socket of sockets) socket.close(1012, "service restart");
    await Promise.race([closed, pause(timings.downtime)]);
    await listener.close();
    await pause(timings.downtime);
    host.config.reload();
    starting = true;
    listener = await open(port);
    setTimeout(() => {
      starting = false;
    }, timings.starting).unref();
  }

  async function stop(): Promise<void> {
    await restarting;
    await listener?.close();
    listener = null;
  }

  const tick = setInterval(() => host.broadcast("tick", { ts: Date.now() }), timings.tick).unref();
  return {
    url: `ws://${address}:${port}`,
    port,
    host,
    faults: host.faults,
    calls,
    messages: host.messages,
    connections,
    onMessage(callback) {
      listeners.add(callback);
      return () => listeners.delete(callback);
    },
    failNext(method, error, times = 1) {
      host.faults.failures.push({ method, error: { code: "INVALID_REQUEST", ...error }, times });
    },
    sendAgentMessage(session_key, text) {
      const message = appendMessage(host, session_key, "assistant", text);
      host.broadcast("chat", { runId: `say-${message.timestamp}`, sessionKey: session_key, seq: 1, state: "final", message });
    },
    restart,
    stop,
    async start() {
      if (listener !== null) return;
      host.config.reload();
      listener = await open(port);
    },
    async close() {
      clearInterval(tick);
      await stop();
    },
  };
}

function createHost(
  version: DialectName,
  options: FakeGatewayOptions,
  callbacks: Pick<Host, "broadcast" | "onMessageAccepted" | "crash">,
): Host {
  const dialect = dialects[version];
  const config = {
    gateway: { mode: "local", bind: "loopback", auth: { mode: "token", token: options.token } },
    agents: {
      defaults: { workspace: "/srv/openclaw/workspace" },
      ...(dialect.agents === "entries" ? { entries: { main: {} } } : {}),
    },
  };
  return {
    ...callbacks,
    dialect,
    version,
    options,
    faults: noFaults(),
    config: createConfigStore(dialect, version, config, options.timings?.stale ?? dialect.stale_ms),
    devices: createDeviceStore(),
    files: new Map(),
    bootstrapped_workspaces: new Set(),
    sessions: new Map(),
    created_at: new Map(),
    runs: new Map(),
    active_runs: new Map(),
    recent_patches: new Map(),
    messages: [],
    obeyed: [],
    settings: new Map(),
  };
}
