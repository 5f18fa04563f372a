import type { WebSocket } from "ws";
import type { ResolveName } from "@board/core/dns/address";
import type { AddressRules } from "./address.ts";
import type { Gateways, GatewayTarget } from "@board/core/context/gateways";
import { GatewayError } from "./gateway-error.ts";
import { type Connection, openConnection } from "./connection.ts";
import { withTimeout } from "./timeout.ts";
import type { Device } from "./device.ts";
import { CONTROL_UI_MODE, DEVICE_MODE, TOKEN_MODE, normalizeToken } from "./handshake.ts";

/**
 * Times in milliseconds (docs/reference/gateways.md#deadlines). A config.patch may make the host validate its whole
 * configuration.
 */
const TIMEOUTS = { connect: 10_000, challenge: 2_000, handshake: 10_000, request: 15_000, config_patch: 30_000, idle: 30_000 };

export interface GatewaysOptions {
  /** Returns the service's identity. Called for every connection in device mode. Its errors are passed on unchanged. */
  device: () => Promise<Device>;
  settings: AddressRules;
  now?: () => Date;
  /** Called with `gateway.connection_opened` and `gateway.connection_closed`, the host and no secrets. */
  log?: (event: string, fields: Record<string, unknown>) => void;
  resolve?: ResolveName;
  timeouts?: Partial<typeof TIMEOUTS>;
}

/**
 * Creates gateways over WebSocket, with one connection per url, token and flags. Concurrent calls share the connection, because
 * connecting costs five round trips. Connections are opened on demand and closed when idle. Nothing is retried here.
 */
export function createGateways(options: GatewaysOptions): Gateways {
  const timeouts = { ...TIMEOUTS, ...options.timeouts };
  const { now = () => new Date(), log = () => {} } = options;
  const pool = new Map<string, Promise<Connection>>();
  const sockets = new Set<WebSocket>();
  const closing = new AbortController();
  const trackSocket = (socket: WebSocket): void => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  };

  /** Opens a connection. When the host refuses a control UI without a device, it tries again with the token alone. */
  async function open(target: GatewayTarget, onRetired: () => void): Promise<Connection> {
    const { device, settings: rules, resolve } = options;
    const dialOptions = { device, rules, resolve, now, log, timeouts, signal: closing.signal, onSocket: trackSocket, onRetired };
    if (!target.disable_device_pairing) return await openConnection(target, DEVICE_MODE, dialOptions);
    try {
      return await openConnection(target, CONTROL_UI_MODE, dialOptions);
    } catch (error) {
      if (!(error instanceof GatewayError) || !/control ui requires/i.test(error.message)) throw error;
      return await openConnection(target, TOKEN_MODE, dialOptions);
    }
  }

  function connection(target: GatewayTarget): Promise<Connection> {
    if (closing.signal.aborted) return Promise.reject(new GatewayError("Gateway connections are closed.", { retryable: false }));
    const key = JSON.stringify([target.url, normalizeToken(target), target.disable_device_pairing, target.allow_insecure_tls]);
    const pooled = pool.get(key);
    if (pooled !== undefined) return pooled;
    const evict = (): void => {
      if (pool.get(key) === pending) pool.delete(key);
    };
    const pending: Promise<Connection> = open(target, evict);
    pool.set(key, pending);
    pending.catch(evict);
    return pending;
  }

  return {
    async hello(target, { timeout_ms } = {}) {
      const accepted = connection(target);
      return (await (timeout_ms === undefined ? accepted : withTimeout(accepted, timeout_ms, "accept the connection"))).hello;
    },
    async request(target, method, params, { timeout_ms } = {}) {
      const accepted = await connection(target);
      return await accepted.call(
        method,
        params,
        timeout_ms ?? (method === "config.patch" ? timeouts.config_patch : timeouts.request),
      );
    },
    async close() {
      const open = [...sockets].map((socket) => new Promise<void>((resolve) => socket.once("close", () => resolve())));
      closing.abort();
      await Promise.all(open);
    },
  };
}
