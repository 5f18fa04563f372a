import type { WebSocket } from "ws";
import type { Resolve } from "../address.ts";
import type { AddressRules } from "./address.ts";
import type { Gateways, GatewayTarget } from "./client.ts";
import { GatewayError } from "./client.ts";
import type { Connection } from "./connection.ts";
import { openConnection } from "./connection.ts";
import { within } from "./deadline.ts";
import type { Device } from "./device.ts";
import { CONTROL_UI_MODE, DEVICE_MODE, TOKEN_MODE, tokenOf } from "./handshake.ts";

/** Milliseconds, contract gateways.md §5.1. config.patch may wait for the host to write and check its whole configuration. */
const DEADLINES = { connect: 10_000, challenge: 2_000, handshake: 10_000, request: 15_000, config_patch: 30_000, idle: 30_000 };

export interface GatewaysOptions {
  /** The service's identity, asked for at every connect in device mode. What it rejects with is passed on unchanged. */
  device: () => Promise<Device>;
  settings: AddressRules;
  now?: () => Date;
  /** Told of connections: `gateway.opened` and `gateway.closed` with the host and no secrets. */
  log?: (event: string, fields: Record<string, unknown>) => void;
  resolve?: Resolve;
  deadlines?: Partial<typeof DEADLINES>;
}

/**
 * Gateways over WebSocket: one connection per url, token and flags, shared by concurrent calls and pipelined, because a
 * connect costs five round trips. Connections are made when needed and dropped when idle; nothing is retried here.
 */
export function createGateways(options: GatewaysOptions): Gateways {
  const deadlines = { ...DEADLINES, ...options.deadlines };
  const { now = () => new Date(), log = () => {} } = options;
  const pool = new Map<string, Promise<Connection>>();
  const sockets = new Set<WebSocket>();
  const closing = new AbortController();
  const dialled = (socket: WebSocket): void => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  };

  /** Opens one, in control-ui mode a second time when the host lets no control UI in without a device. */
  async function open(target: GatewayTarget, retired: () => void): Promise<Connection> {
    const { device, settings: rules, resolve } = options;
    const dialling = { device, rules, resolve, now, log, deadlines, signal: closing.signal, dialled, retired };
    if (!target.disable_device_pairing) return await openConnection(target, DEVICE_MODE, dialling);
    try {
      return await openConnection(target, CONTROL_UI_MODE, dialling);
    } catch (error) {
      if (!(error instanceof GatewayError) || !/control ui requires/i.test(error.message)) throw error;
      return await openConnection(target, TOKEN_MODE, dialling);
    }
  }

  function connection(target: GatewayTarget): Promise<Connection> {
    if (closing.signal.aborted) return Promise.reject(new GatewayError("Gateway connections are closed.", { retryable: false }));
    const key = JSON.stringify([target.url, tokenOf(target), target.disable_device_pairing, target.allow_insecure_tls]);
    const pooled = pool.get(key);
    if (pooled !== undefined) return pooled;
    const forget = (): void => {
      if (pool.get(key) === opening) pool.delete(key);
    };
    const opening: Promise<Connection> = open(target, forget);
    pool.set(key, opening);
    opening.catch(forget);
    return opening;
  }

  return {
    async hello(target, { timeout_ms } = {}) {
      const accepted = connection(target);
      return (await (timeout_ms === undefined ? accepted : within(accepted, timeout_ms, "accept the connection"))).hello;
    },
    async request(target, method, params, { timeout_ms } = {}) {
      const accepted = await connection(target);
      return await accepted.call(
        method,
        params,
        timeout_ms ?? (method === "config.patch" ? deadlines.config_patch : deadlines.request),
      );
    },
    async close() {
      const open = [...sockets].map((socket) => new Promise<void>((resolve) => socket.once("close", () => resolve())));
      closing.abort();
      await Promise.all(open);
    },
  };
}
