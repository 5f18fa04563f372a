import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import type { WebSocket } from "ws";
import { say } from "./chat.ts";
import { createConfig } from "./config.ts";
import type { RecordedCall } from "./connection.ts";
import { serve } from "./connection.ts";
import type { DialectName } from "./dialect.ts";
import { dialects } from "./dialect.ts";
import type { Faults } from "./faults.ts";
import { noFaults } from "./faults.ts";
import type { ChatMessage, FakeGatewayOptions, Host } from "./host.ts";
import type { Listener } from "./listener.ts";
import { listen } from "./listener.ts";
import { createDevices } from "./pairing.ts";
import type { WireError } from "./refusal.ts";

const TIMINGS = { restart_delay: 500, downtime: 100, starting: 50, tick: 30_000 };

export interface FakeGateway {
  url: string;
  port: number;
  /** What the host remembers, for tests to look into or to prepare. */
  host: Host;
  faults: Faults;
  /** Every request that was a frame, `connect` included, in order of arrival. */
  calls: RecordedCall[];
  /** Messages agents received, each idempotency key once. */
  messages: ChatMessage[];
  connections: { opened: number; open: number };
  /** Called for each message once chat.send is answered; returns the way to stop. */
  onMessage(listener: (message: ChatMessage) => void): () => void;
  /** Lets the next `times` calls of a method fail with this error. */
  fail(method: string, error: Partial<WireError> & { message: string }, times?: number): void;
  /** An agent speaks of its own accord. */
  say(session_key: string, text: string): void;
  /** Shutdown event, close 1012, a moment of refused connections, then 503, then as before. */
  restart(): Promise<void>;
  /** An outage: cuts every connection and refuses new ones until `start()`. */
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** A gateway on loopback that behaves as the observed releases do, with faults to order. */
export async function startFakeGateway(given: FakeGatewayOptions & { dialect?: DialectName }): Promise<FakeGateway> {
  const { dialect: version = "2026.2.9", ...options } = given;
  const timings = { ...TIMINGS, ...options.timings };
  const address = options.host ?? "127.0.0.1";
  const listeners = new Set<(message: ChatMessage) => void>();
  const sockets = new Set<WebSocket>();
  const admitted = new Set<WebSocket>();
  const calls: RecordedCall[] = [];
  const connections = { opened: 0, open: 0 };
  const host = createHost(version, options, {
    broadcast(event, payload) {
      for (const socket of admitted) socket.send(JSON.stringify({ type: "event", event, payload }));
    },
    heard(message) {
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
      refusal({ headers }) {
        const forwarded = host.dialect.protocol === 4 && headers["x-forwarded-for"] !== undefined;
        return host.faults.upgrade_status ?? (starting ? 503 : forwarded ? 403 : null);
      },
      accept,
    });
  let listener: Listener | null = await open(options.port ?? 0);
  const { port } = listener;

  function accept(socket: WebSocket, request: Parameters<typeof serve>[2]): void {
    connections.opened += 1;
    connections.open += 1;
    sockets.add(socket);
    // Too large a frame shows here as an error; the close that follows says the rest.
    socket.on("error", () => {});
    socket.on("close", () => {
      connections.open -= 1;
      sockets.delete(socket);
      admitted.delete(socket);
    });
    serve(host, socket, request, {
      number: connections.opened,
      max_payload,
      tick_ms: timings.tick,
      record: (call) => calls.push(call),
      admitted: () => admitted.add(socket),
      restart: (when) => void (when === "now" ? restart() : setTimeout(() => void restart(), timings.restart_delay).unref()),
    });
  }

  /** Restarts asked for while one is under way are one restart. */
  function restart(): Promise<void> {
    restarting ??= bounce().finally(() => {
      restarting = null;
    });
    return restarting;
  }

  async function bounce(): Promise<void> {
    if (listener === null) return;
    host.broadcast("shutdown", { reason: "gateway restarting", restartExpectedMs: 1500 });
    listener.refuse();
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
    onMessage(heard) {
      listeners.add(heard);
      return () => listeners.delete(heard);
    },
    fail(method, error, times = 1) {
      host.faults.failures.push({ method, error: { code: "INVALID_REQUEST", ...error }, times });
    },
    say(session_key, text) {
      const message = say(host, session_key, "assistant", text);
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
  outlets: Pick<Host, "broadcast" | "heard" | "crash">,
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
    ...outlets,
    dialect,
    version,
    options,
    faults: noFaults(),
    config: createConfig(dialect, version, config, options.timings?.stale ?? dialect.stale_ms),
    devices: createDevices(),
    files: new Map(),
    set_up: new Set(),
    sessions: new Map(),
    created: new Map(),
    runs: new Map(),
    running: new Map(),
    patches: new Map(),
    messages: [],
  };
}
