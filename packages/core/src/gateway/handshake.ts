import type { GatewayHello, GatewayTarget } from "./client.ts";
import { GatewayError } from "./client.ts";
import type { Device } from "./device.ts";
import { cleanText } from "./failure.ts";
import { record } from "./frame.ts";

/** Both wire protocols in use are offered; the host picks. */
const PROTOCOLS = { min: 3, max: 4 };
const ROLE = "operator";
export const SCOPES = ["operator.read", "operator.admin", "operator.approvals", "operator.pairing"];
/** The smallest limit seen on a host, taken when one does not tell. */
const UNTOLD_MAX_PAYLOAD = 512 * 1024;

/** As whom a connection presents itself (contract gateways.md §5.2). */
export interface ConnectMode {
  client: { id: string; mode: string };
  with_device: boolean;
  with_origin: boolean;
}

export const DEVICE_MODE: ConnectMode = {
  client: { id: "gateway-client", mode: "backend" },
  with_device: true,
  with_origin: false,
};
export const CONTROL_UI_MODE: ConnectMode = {
  client: { id: "openclaw-control-ui", mode: "ui" },
  with_device: false,
  with_origin: true,
};
/** For hosts that no longer let a control UI in without a device: the shared token alone, as a backend. */
export const TOKEN_MODE: ConnectMode = {
  client: { id: "gateway-client", mode: "backend" },
  with_device: false,
  with_origin: false,
};

/** Params of `connect`. Hosts refuse unknown keys, so an absent value is an absent key. */
export function connectParams(
  mode: ConnectMode,
  given: { token: string | null; nonce: string | null; device: Device | null; signed_at: number },
): object {
  const { token, nonce, device, signed_at } = given;
  const client = { client_id: mode.client.id, client_mode: mode.client.mode };
  return {
    minProtocol: PROTOCOLS.min,
    maxProtocol: PROTOCOLS.max,
    role: ROLE,
    scopes: SCOPES,
    client: { id: mode.client.id, version: "1.0.0", platform: platform(), mode: mode.client.mode },
    ...(device === null
      ? {}
      : {
          device: {
            id: device.id,
            publicKey: device.public_key,
            signature: device.sign({ ...client, role: ROLE, scopes: SCOPES, signed_at, token, nonce }),
            signedAt: signed_at,
            ...(nonce === null ? {} : { nonce }),
          },
        }),
    ...(token === null ? {} : { auth: { token } }),
  };
}

/** A blank token is no token. */
export function tokenOf(target: GatewayTarget): string | null {
  return target.token?.trim() || null;
}

/** The url to dial: always ws or wss, never with a fragment. Throws a GatewayError when it cannot be dialled at all. */
export function dialUrl(url: string): URL {
  const parsed = URL.parse(url.trim());
  const scheme =
    parsed === null ? undefined : { "ws:": "ws:", "http:": "ws:", "wss:": "wss:", "https:": "wss:" }[parsed.protocol];
  if (parsed === null || scheme === undefined) throw new GatewayError("Gateway url is not valid.", { retryable: false });
  parsed.protocol = scheme;
  parsed.hash = "";
  return parsed;
}

/** What a browser on the host's own page would send; a default port is left out, as browsers do. */
export function originOf(url: URL): string {
  return `${url.protocol === "wss:" ? "https" : "http"}://${url.host}`;
}

/** Reads `hello-ok`, forgiving what is missing. Throws when the host settled on a protocol that was not offered. */
export function toHello(payload: unknown): Omit<GatewayHello, "clock_ahead_ms"> {
  const hello = record(payload) ?? {};
  const features = record(hello.features) ?? {};
  const version = record(hello.server)?.version;
  const scopes = record(hello.auth)?.scopes;
  const limit = record(hello.policy)?.maxPayload;
  const protocol = typeof hello.protocol === "number" ? hello.protocol : PROTOCOLS.min;
  if (protocol < PROTOCOLS.min || protocol > PROTOCOLS.max) {
    throw new GatewayError(
      `protocol mismatch: the gateway speaks ${protocol}, supported are ${PROTOCOLS.min} to ${PROTOCOLS.max}`,
      {
        retryable: false,
        details: { code: "PROTOCOL_MISMATCH" },
      },
    );
  }
  return {
    protocol,
    version: typeof version === "string" ? cleanText(version) || null : null,
    methods: texts(features.methods),
    events: texts(features.events),
    scopes: Array.isArray(scopes) ? texts(scopes) : null,
    max_payload: typeof limit === "number" && limit > 0 ? limit : UNTOLD_MAX_PAYLOAD,
  };
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : [];
}

function platform(): string {
  if (process.platform === "win32") return "windows";
  return process.platform === "darwin" ? "darwin" : "linux";
}
