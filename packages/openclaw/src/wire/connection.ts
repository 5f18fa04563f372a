import type { LookupFunction, Socket } from "node:net";
import { type ClientOptions, WebSocket } from "ws";
import { type Address, LookupLimitError, type ResolveName } from "@board/core/dns/address";
import { type AddressRules, resolveHost } from "./address.ts";
import type { GatewayHello, GatewayTarget } from "@board/core/context/gateways";
import { toConnectMessage } from "./failure.ts";
import { GatewayError } from "./gateway-error.ts";
import { withTimeout } from "./timeout.ts";
import type { Device } from "./device.ts";
import { createRpcSocket, type RpcSocket } from "./rpc-socket.ts";
import { type ConnectMode, createConnectParams, normalizeToken, toDialUrl, toHello, toOrigin } from "./handshake.ts";

/**
 * Times in milliseconds. `connect` covers the time from name resolution to the accepted upgrade, and `handshake` the time after
 * that until the hello.
 */
interface ConnectionTimeouts {
  connect: number;
  challenge: number;
  handshake: number;
  idle: number;
}

export interface DialOptions {
  device: () => Promise<Device>;
  rules: AddressRules;
  resolve?: ResolveName | undefined;
  now: () => Date;
  timeouts: ConnectionTimeouts;
  /** Aborts the attempt and, later, the connection. */
  signal: AbortSignal;
  /** Called as soon as the socket exists. */
  onSocket(socket: WebSocket): void;
  /** Called when an accepted connection must get no new calls. It may be called more than once. */
  onRetired(): void;
  log(event: string, fields: Record<string, unknown>): void;
}

/** An accepted connection. It closes itself when it is idle, and once it is retired and no call is pending. */
export interface Connection {
  hello: GatewayHello;
  call(method: string, params: object, timeout_ms: number): Promise<unknown>;
}

/** Largest message accepted from a host, in bytes. A configuration of 10,000 agents takes half of it. */
const RECEIVE_LIMIT = 8 * 1024 * 1024;

/**
 * Makes one attempt: resolves and checks the address, connects, and performs the handshake. Rejects with a GatewayError,
 * or with the error of `device`.
 */
export async function openConnection(target: GatewayTarget, mode: ConnectMode, options: DialOptions): Promise<Connection> {
  const { timeouts, signal } = options;
  const url = toDialUrl(target.url);
  const token = normalizeToken(target);
  const device = mode.with_device ? await options.device() : null;
  const started = performance.now();
  const addresses = await resolveAddresses(url, target, options);
  if (signal.aborted) throw closedLocally();

  const socket = new WebSocket(url, toSocketOptions(target, url, mode, addresses));
  options.onSocket(socket);
  let rawSocket: Socket | null = null;
  socket.on("upgrade", (response) => {
    rawSocket = response.socket;
  });
  let connection: ReturnType<typeof createConnection> | null = null;
  const rpc = createRpcSocket(socket, token, {
    onEvent: (name) => {
      if (name === "shutdown") connection?.retire();
    },
    onClosed: (error) => {
      signal.removeEventListener("abort", abort);
      if (connection === null) return;
      connection.retire();
      options.log("gateway.connection_closed", { host: url.host, reason: error.message });
    },
  });
  const abort = (): void => rpc.close(closedLocally());
  signal.addEventListener("abort", abort);
  try {
    await rpc.waitForOpen(Math.max(1, timeouts.connect - (performance.now() - started)));
    const upgraded = performance.now();
    const { nonce, ts } = await rpc.waitForChallenge(Math.min(timeouts.challenge, timeouts.handshake));
    const signed_at = options.now().getTime();
    const params = createConnectParams(mode, { token, nonce, device, signed_at });
    const remaining_ms = Math.max(1, timeouts.handshake - (performance.now() - upgraded));
    const payload = await rpc.call("connect", params, remaining_ms, Number.POSITIVE_INFINITY);
    const hello = { ...toHello(payload), clock_ahead_ms: ts === null ? null : ts - signed_at };
    connection = createConnection(rpc, hello, rawSocket, options);
    options.log("gateway.connection_opened", { host: url.host, protocol: hello.protocol, version: hello.version });
    return connection;
  } catch (error) {
    rpc.close(closedLocally());
    if (!(error instanceof GatewayError)) throw error;
    throw new GatewayError(toConnectMessage(error), { ...error.failure, unconnected: true });
  }
}

/**
 * Tracks the use of an open connection. While no call is pending, the socket does not keep the process alive. After a `shutdown`
 * event or a missed deadline the connection is retired, because the host may be down. The next call then uses a new connection.
 */
function createConnection(rpc: RpcSocket, hello: GatewayHello, rawSocket: Socket | null, options: DialOptions) {
  let active = 0;
  let retiring = false;
  let idle: NodeJS.Timeout | undefined;
  const closeIfIdle = (): void => {
    if (active > 0) return;
    clearTimeout(idle);
    if (retiring) return rpc.close(new GatewayError("Gateway connection closed: no longer in use.", { close_code: 1001 }));
    rawSocket?.unref();
    idle = setTimeout(retire, options.timeouts.idle).unref();
  };
  const retire = (): void => {
    retiring = true;
    options.onRetired();
    closeIfIdle();
  };
  closeIfIdle();
  return {
    hello,
    retire,
    async call(method: string, params: object, timeout_ms: number): Promise<unknown> {
      active += 1;
      clearTimeout(idle);
      rawSocket?.ref();
      try {
        return await rpc.call(method, params, timeout_ms, hello.max_payload);
      } catch (error) {
        if (error instanceof GatewayError && error.failure.timed_out) retire();
        throw error;
      } finally {
        active -= 1;
        closeIfIdle();
      }
    },
  };
}

async function resolveAddresses(
  url: URL,
  { organization_id }: GatewayTarget,
  { rules, resolve, timeouts }: DialOptions,
): Promise<Address[]> {
  try {
    return await withTimeout(resolveHost(url, rules, resolve, organization_id), timeouts.connect, "accept the connection");
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? null;
    const reason = error instanceof LookupLimitError ? error.message : (code ?? "unknown error");
    throw new GatewayError(`Gateway host name cannot be resolved: ${reason}`, { system_code: code });
  }
}

/**
 * Creates the options of the socket. `lookup` replaces the socket's own name resolution, so that only checked addresses are
 * dialled.
 */
function toSocketOptions(
  target: GatewayTarget,
  url: URL,
  mode: ConnectMode,
  addresses: readonly Address[],
): ClientOptions & { lookup: LookupFunction } {
  const lookup: LookupFunction = (_hostname, lookupOptions, callback) => {
    const [first] = addresses;
    if (lookupOptions.all) callback(null, [...addresses]);
    else callback(null, first?.address ?? "", first?.family);
  };
  return {
    lookup,
    followRedirects: false,
    perMessageDeflate: false,
    maxPayload: RECEIVE_LIMIT,
    ...(mode.with_origin ? { origin: toOrigin(url) } : {}),
    ...(target.allow_insecure_tls && url.protocol === "wss:" ? { rejectUnauthorized: false } : {}),
  };
}

function closedLocally(): GatewayError {
  return new GatewayError("Gateway connection closed by this service.", { retryable: false });
}
