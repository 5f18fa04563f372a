import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { WebSocket } from "ws";
import { consumeFailure, consumeFault } from "./faults.ts";
import type { ConnectResult } from "./handshake.ts";
import { acceptConnect } from "./handshake.ts";
import { health } from "./health.ts";
import type { Client, Host } from "./host.ts";
import { events, callMethod, methods } from "./methods.ts";
import type { RpcErrorBody } from "./rpc-error.ts";
import { RpcError } from "./rpc-error.ts";
import { requestFrame } from "./validators.ts";

export interface RecordedCall {
  connection: number;
  method: string;
  params: unknown;
  at: number;
}

/** What a connection needs from its server. */
interface ConnectionContext {
  connection_number: number;
  max_payload: number;
  tick_ms: number;
  record(call: RecordedCall): void;
  /** Called when the client is accepted. From then on the client receives events. */
  onConnected(): void;
  restart(delay: "now" | "later"): void;
}

interface RequestFrame {
  id: string;
  method: string;
  params?: unknown;
}

/** Handles one client from challenge to close. */
export function handleConnection(host: Host, socket: WebSocket, upgrade: IncomingMessage, context: ConnectionContext): void {
  const { faults } = host;
  const nonce = randomUUID();
  const id = randomUUID();
  let client: Client | null = null;
  const send = (frame: object): void => socket.send(JSON.stringify(frame));
  const sendError = (frame: RequestFrame, error: RpcErrorBody): void => send({ type: "res", id: frame.id, ok: false, error });
  if (faults.silent_handshake) return;
  if (!faults.no_challenge) send({ type: "event", event: "connect.challenge", payload: { nonce, ts: Date.now() } });

  socket.on("message", (data) => {
    const value = parseJson(data.toString());
    if (value === undefined && client === null) return socket.close(1000);
    const problems = requestFrame(value, "");
    if (problems.length > 0) {
      if (client === null) return socket.close(1008, "invalid request frame");
      const id = (value as { id?: unknown } | null)?.id;
      const error = { code: "INVALID_REQUEST", message: `invalid request frame: ${problems.join("; ")}` };
      return send({ type: "res", id: typeof id === "string" && id !== "" ? id : "invalid", ok: false, error });
    }
    const frame = value as RequestFrame;
    context.record({ connection: context.connection_number, method: frame.method, params: frame.params, at: Date.now() });
    if (client === null) connect(frame);
    else answer(frame, client);
  });

  function connect(frame: RequestFrame): void {
    let admission: ConnectResult;
    try {
      const failure = consumeFailure(faults, "connect");
      if (failure !== null) throw new RpcError(failure.message, failure);
      if (frame.method !== "connect") throw new RpcError("invalid handshake: first request must be connect");
      admission = acceptConnect(host, upgrade, nonce, frame.params);
    } catch (error) {
      const wire = toRpcErrorBody(error);
      sendError(frame, wire);
      return socket.close(wire.message === "protocol mismatch" ? 1002 : 1008, wire.message.slice(0, 120));
    }
    const { remoteAddress } = upgrade.socket;
    client = {
      id,
      scopes: admission.scopes,
      rate_limit_key: admission.device_id === null ? id : `${admission.device_id}|${remoteAddress}`,
    };
    const delay = faults.delays_ms.connect ?? 0;
    if (delay === Number.POSITIVE_INFINITY) return;
    setTimeout(() => {
      send({ type: "res", id: frame.id, ok: true, payload: hello(host, id, admission, context) });
      send({ type: "event", event: "health", payload: health(host), seq: 1 });
      context.onConnected();
    }, delay);
  }

  function answer(frame: RequestFrame, from: Client): void {
    const { method } = frame;
    if (consumeFault(faults.dropped_connections, method)) return socket.terminate();
    let reply: object;
    let restarts = false;
    try {
      if (method === "connect") throw new RpcError("connect is only valid as the first request");
      const failure = consumeFailure(faults, method);
      if (failure !== null) throw new RpcError(failure.message, failure);
      const payload = callMethod(host, from, method, frame.params);
      restarts = faults.restart_after_writes && (payload as { noop?: boolean } | null)?.noop !== true;
      reply = { type: "res", id: frame.id, ok: true, payload };
    } catch (error) {
      reply = { type: "res", id: frame.id, ok: false, error: toRpcErrorBody(error) };
    }
    const writes = methods.get(method)?.writes;
    const rule = restarts && writes !== undefined ? host.dialect.restart_on[writes] : "never";
    if (consumeFault(faults.lost_responses, method) || rule === "before_answer") return context.restart("now");
    if (rule === "after_answer") context.restart("later");
    const delay = faults.delays_ms[method] ?? 0;
    if (delay === 0) send(reply);
    else if (delay !== Number.POSITIVE_INFINITY) setTimeout(() => send(reply), delay);
  }
}

function hello(host: Host, connId: string, admission: ConnectResult, context: ConnectionContext): object {
  const { version } = host.options;
  return {
    type: "hello-ok",
    protocol: host.dialect.protocol,
    server: { ...(version === null ? {} : { version: version ?? host.version }), host: "fake", connId },
    features: { methods: [...methods.keys()], events },
    snapshot: { presence: [], health: health(host), stateVersion: { presence: 0, health: 0 }, uptimeMs: 1 },
    auth: admission.auth,
    policy: { maxPayload: context.max_payload, maxBufferedBytes: context.max_payload * 3, tickIntervalMs: context.tick_ms },
  };
}

function toRpcErrorBody(error: unknown): RpcErrorBody {
  return error instanceof RpcError ? error.body : { code: "UNAVAILABLE", message: String(error) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
