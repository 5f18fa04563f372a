import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { WebSocket } from "ws";
import { takeFailure, takeOne } from "./faults.ts";
import type { Admission } from "./handshake.ts";
import { admit } from "./handshake.ts";
import { health } from "./health.ts";
import type { Client, Host } from "./host.ts";
import { events, invoke, methods } from "./methods.ts";
import type { WireError } from "./refusal.ts";
import { Refusal } from "./refusal.ts";
import { requestFrame } from "./schema.ts";

export interface RecordedCall {
  connection: number;
  method: string;
  params: unknown;
  at: number;
}

/** What a connection needs of the server it came in on. */
export interface Line {
  number: number;
  max_payload: number;
  tick_ms: number;
  record(call: RecordedCall): void;
  /** The client was let in and gets events from now on. */
  admitted(): void;
  restart(delay: "now" | "later"): void;
}

interface RequestFrame {
  id: string;
  method: string;
  params?: unknown;
}

/** Speaks with one client from challenge to close. */
export function serve(host: Host, socket: WebSocket, upgrade: IncomingMessage, line: Line): void {
  const { faults } = host;
  const nonce = randomUUID();
  const id = randomUUID();
  let client: Client | null = null;
  const send = (frame: object): void => socket.send(JSON.stringify(frame));
  const refuse = (frame: RequestFrame, error: WireError): void => send({ type: "res", id: frame.id, ok: false, error });
  if (faults.silent_handshake) return;
  if (!faults.no_challenge) send({ type: "event", event: "connect.challenge", payload: { nonce, ts: Date.now() } });

  socket.on("message", (data) => {
    const value = parsed(data.toString());
    if (value === undefined && client === null) return socket.close(1000);
    const problems = requestFrame(value, "");
    if (problems.length > 0) {
      if (client === null) return socket.close(1008, "invalid request frame");
      const given = (value as { id?: unknown } | null)?.id;
      const error = { code: "INVALID_REQUEST", message: `invalid request frame: ${problems.join("; ")}` };
      return send({ type: "res", id: typeof given === "string" && given !== "" ? given : "invalid", ok: false, error });
    }
    const frame = value as RequestFrame;
    line.record({ connection: line.number, method: frame.method, params: frame.params, at: Date.now() });
    if (client === null) connect(frame);
    else answer(frame, client);
  });

  function connect(frame: RequestFrame): void {
    let admission: Admission;
    try {
      const failure = takeFailure(faults, "connect");
      if (failure !== null) throw new Refusal(failure.message, failure);
      if (frame.method !== "connect") throw new Refusal("invalid handshake: first request must be connect");
      admission = admit(host, upgrade, nonce, frame.params);
    } catch (error) {
      const wire = wireError(error);
      refuse(frame, wire);
      return socket.close(wire.message === "protocol mismatch" ? 1002 : 1008, wire.message.slice(0, 120));
    }
    const { remoteAddress } = upgrade.socket;
    client = {
      id,
      scopes: admission.scopes,
      limit_key: admission.device_id === null ? id : `${admission.device_id}|${remoteAddress}`,
    };
    const delay = faults.delays_ms.connect ?? 0;
    if (delay === Number.POSITIVE_INFINITY) return;
    setTimeout(() => {
      send({ type: "res", id: frame.id, ok: true, payload: hello(host, id, admission, line) });
      send({ type: "event", event: "health", payload: health(host), seq: 1 });
      line.admitted();
    }, delay);
  }

  function answer(frame: RequestFrame, from: Client): void {
    const { method } = frame;
    if (takeOne(faults.cuts, method)) return socket.terminate();
    let reply: object;
    let restarts = false;
    try {
      if (method === "connect") throw new Refusal("connect is only valid as the first request");
      const failure = takeFailure(faults, method);
      if (failure !== null) throw new Refusal(failure.message, failure);
      const payload = invoke(host, from, method, frame.params);
      restarts = faults.restart_after_writes && (payload as { noop?: boolean } | null)?.noop !== true;
      reply = { type: "res", id: frame.id, ok: true, payload };
    } catch (error) {
      reply = { type: "res", id: frame.id, ok: false, error: wireError(error) };
    }
    const writes = methods.get(method)?.writes;
    const rule = restarts && writes !== undefined ? host.dialect.restart_on[writes] : "never";
    if (takeOne(faults.lost_answers, method) || rule === "before_answer") return line.restart("now");
    if (rule === "after_answer") line.restart("later");
    const delay = faults.delays_ms[method] ?? 0;
    if (delay === 0) send(reply);
    else if (delay !== Number.POSITIVE_INFINITY) setTimeout(() => send(reply), delay);
  }
}

function hello(host: Host, connId: string, admission: Admission, line: Line): object {
  const { version } = host.options;
  return {
    type: "hello-ok",
    protocol: host.dialect.protocol,
    server: { ...(version === null ? {} : { version: version ?? host.version }), host: "fake", connId },
    features: { methods: [...methods.keys()], events },
    snapshot: { presence: [], health: health(host), stateVersion: { presence: 0, health: 0 }, uptimeMs: 1 },
    auth: admission.auth,
    policy: { maxPayload: line.max_payload, maxBufferedBytes: line.max_payload * 3, tickIntervalMs: line.tick_ms },
  };
}

function wireError(error: unknown): WireError {
  return error instanceof Refusal ? error.wire : { code: "UNAVAILABLE", message: String(error) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
