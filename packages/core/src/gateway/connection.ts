import type { LookupFunction, Socket } from "node:net";
import type { ClientOptions } from "ws";
import { WebSocket } from "ws";
import type { Address, Resolve } from "../address.ts";
import type { AddressRules } from "./address.ts";
import { resolveHost } from "./address.ts";
import type { GatewayHello, GatewayTarget } from "./client.ts";
import { GatewayError } from "./client.ts";
import { within } from "./deadline.ts";
import type { Device } from "./device.ts";
import type { Exchange } from "./exchange.ts";
import { createExchange } from "./exchange.ts";
import type { ConnectMode } from "./handshake.ts";
import { connectParams, dialUrl, originOf, toHello, tokenOf } from "./handshake.ts";

/** Milliseconds. `connect` covers name resolution up to the accepted upgrade, `handshake` everything from there to the hello. */
export interface Deadlines {
  connect: number;
  challenge: number;
  handshake: number;
  idle: number;
}

export interface Dialling {
  device: () => Promise<Device>;
  rules: AddressRules;
  resolve?: Resolve | undefined;
  now: () => Date;
  deadlines: Deadlines;
  /** Ends the attempt and, later, the connection. */
  signal: AbortSignal;
  /** Told of the socket as soon as there is one. */
  dialled(socket: WebSocket): void;
  /** An accepted connection takes no new calls from here on; may come more than once. */
  retired(): void;
  log(event: string, fields: Record<string, unknown>): void;
}

/** An accepted connection. It closes itself when idle, and as soon as it is retired and nothing waits on it. */
export interface Connection {
  hello: GatewayHello;
  call(method: string, params: object, timeout_ms: number): Promise<unknown>;
}

/** A host's answers are read up to this size; a config.get with everything in it is far smaller. */
const RECEIVE_LIMIT = 32 * 1024 * 1024;

/** One attempt: resolve and check the address, dial it, shake hands. Rejects with a GatewayError (or what `device` rejects with). */
export async function openConnection(target: GatewayTarget, mode: ConnectMode, dialling: Dialling): Promise<Connection> {
  const { deadlines, signal } = dialling;
  const url = dialUrl(target.url);
  const token = tokenOf(target);
  const device = mode.with_device ? await dialling.device() : null;
  const started = performance.now();
  const addresses = await checkedAddresses(url, dialling);
  if (signal.aborted) throw closedHere();

  const socket = new WebSocket(url, dialOptions(target, url, mode, addresses));
  dialling.dialled(socket);
  let wire: Socket | null = null;
  socket.on("upgrade", (response) => {
    wire = response.socket;
  });
  let connection: ReturnType<typeof tended> | null = null;
  const exchange = createExchange(socket, token, {
    event: (name) => {
      if (name === "shutdown") connection?.retire();
    },
    ended: (error) => {
      signal.removeEventListener("abort", abort);
      if (connection === null) return;
      connection.retire();
      dialling.log("gateway.closed", { host: url.host, reason: error.message });
    },
  });
  const abort = (): void => exchange.end(closedHere());
  signal.addEventListener("abort", abort);
  try {
    await exchange.opened(Math.max(1, deadlines.connect - (performance.now() - started)));
    const upgraded = performance.now();
    const { nonce, ts } = await exchange.challenge(Math.min(deadlines.challenge, deadlines.handshake));
    const signed_at = dialling.now().getTime();
    const params = connectParams(mode, { token, nonce, device, signed_at });
    const left = Math.max(1, deadlines.handshake - (performance.now() - upgraded));
    const payload = await exchange.call("connect", params, left, Number.POSITIVE_INFINITY);
    const hello = { ...toHello(payload), clock_ahead_ms: ts === null ? null : ts - signed_at };
    connection = tended(exchange, hello, wire, dialling);
    dialling.log("gateway.opened", { host: url.host, protocol: hello.protocol, version: hello.version });
    return connection;
  } catch (error) {
    exchange.end(closedHere());
    if (!(error instanceof GatewayError)) throw error;
    throw new GatewayError(error.message, { ...error.failure, unconnected: true });
  }
}

/**
 * Watches over the use of an open connection. While nothing waits on it the socket does not keep the process alive.
 * A missed deadline retires it like a `shutdown` does: the peer may be gone without a word, and the next call should find out
 * on a fresh connection.
 */
function tended(exchange: Exchange, hello: GatewayHello, wire: Socket | null, dialling: Dialling) {
  let active = 0;
  let leaving = false;
  let idle: NodeJS.Timeout | undefined;
  const rest = (): void => {
    if (active > 0) return;
    clearTimeout(idle);
    if (leaving) return exchange.end(new GatewayError("Gateway connection closed: no longer in use.", { close_code: 1001 }));
    wire?.unref();
    idle = setTimeout(retire, dialling.deadlines.idle).unref();
  };
  const retire = (): void => {
    leaving = true;
    dialling.retired();
    rest();
  };
  rest();
  return {
    hello,
    retire,
    async call(method: string, params: object, timeout_ms: number): Promise<unknown> {
      active += 1;
      clearTimeout(idle);
      wire?.ref();
      try {
        return await exchange.call(method, params, timeout_ms, hello.max_payload);
      } catch (error) {
        if (error instanceof GatewayError && error.failure.timed_out) retire();
        throw error;
      } finally {
        active -= 1;
        rest();
      }
    },
  };
}

async function checkedAddresses(url: URL, { rules, resolve, deadlines }: Dialling): Promise<Address[]> {
  try {
    return await within(resolveHost(url, rules, resolve), deadlines.connect, "accept the connection");
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? null;
    throw new GatewayError(`Gateway host name cannot be resolved: ${code ?? "unknown error"}`, { system_code: code });
  }
}

/** `lookup` goes through to the socket's own connect, where it stands in for a second name resolution. */
function dialOptions(
  target: GatewayTarget,
  url: URL,
  mode: ConnectMode,
  addresses: readonly Address[],
): ClientOptions & { lookup: LookupFunction } {
  const lookup: LookupFunction = (_hostname, options, found) => {
    const [first] = addresses;
    if (options.all) found(null, [...addresses]);
    else found(null, first?.address ?? "", first?.family);
  };
  return {
    lookup,
    followRedirects: false,
    perMessageDeflate: false,
    maxPayload: RECEIVE_LIMIT,
    ...(mode.with_origin ? { origin: originOf(url) } : {}),
    ...(target.allow_insecure_tls && url.protocol === "wss:" ? { rejectUnauthorized: false } : {}),
  };
}

function closedHere(): GatewayError {
  return new GatewayError("Gateway connection closed by this service.", { retryable: false });
}
