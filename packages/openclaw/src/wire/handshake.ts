import type { GatewayHello, GatewayTarget } from "@board/core/context/gateways";
import { GatewayError } from "./gateway-error.ts";
import type { Device } from "./device.ts";
import { cleanText } from "./failure.ts";
import { asRecord } from "./frame.ts";

/** The client offers both wire protocols in use, and the host picks one. */
const PROTOCOLS = { min: 3, max: 4 };
const ROLE = "operator";
export const SCOPES = ["operator.read", "operator.admin", "operator.approvals", "operator.pairing"];
/** The limit in bytes when a host reports none. It is the smallest limit that was seen on any host. */
const DEFAULT_MAX_PAYLOAD = 512 * 1024;

/** The identity with which a connection presents itself (docs/reference/gateways.md#handshake). */
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
/** Sends only the shared token, as a backend client. It is for hosts that refuse a control UI without a device. */
export const TOKEN_MODE: ConnectMode = {
  client: { id: "gateway-client", mode: "backend" },
  with_device: false,
  with_origin: false,
};

/** Creates the params of `connect`. Hosts refuse unknown keys, so a key without a value is left out. */
export function createConnectParams(
  mode: ConnectMode,
  options: { token: string | null; nonce: string | null; device: Device | null; signed_at: number },
): object {
  const { token, nonce, device, signed_at } = options;
  const client = { client_id: mode.client.id, client_mode: mode.client.mode };
  return {
    minProtocol: PROTOCOLS.min,
    maxProtocol: PROTOCOLS.max,
    role: ROLE,
    scopes: SCOPES,
    client: { id: mode.client.id, version: "1.0.0", platform: clientPlatform(), mode: mode.client.mode },
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

/** Returns the target's token. A blank token counts as no token. */
export function normalizeToken(target: GatewayTarget): string | null {
  return target.token?.trim() || null;
}

/** Returns the url to dial, which is always ws or wss and has no fragment. Throws a GatewayError when the url is not valid. */
export function toDialUrl(url: string): URL {
  const parsed = URL.parse(url.trim());
  const scheme =
    parsed === null ? undefined : { "ws:": "ws:", "http:": "ws:", "wss:": "wss:", "https:": "wss:" }[parsed.protocol];
  if (parsed === null || scheme === undefined) throw new GatewayError("Gateway url is not valid.", { retryable: false });
  parsed.protocol = scheme;
  parsed.hash = "";
  return parsed;
}

/** Returns the origin that a browser would send from the host's own page. Like browsers, it leaves out a default port. */
export function toOrigin(url: URL): string {
  return `${url.protocol === "wss:" ? "https" : "http"}://${url.host}`;
}

/** Parses `hello-ok` with defaults for missing fields. Throws when the host chose a protocol that was not offered. */
export function toHello(payload: unknown): Omit<GatewayHello, "clock_ahead_ms"> {
  const hello = asRecord(payload) ?? {};
  const features = asRecord(hello.features) ?? {};
  const version = asRecord(hello.server)?.version;
  const scopes = asRecord(hello.auth)?.scopes;
  const limit = asRecord(hello.policy)?.maxPayload;
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
    methods: toStrings(features.methods),
    events: toStrings(features.events),
    scopes: Array.isArray(scopes) ? toStrings(scopes) : null,
    max_payload: typeof limit === "number" && limit > 0 ? limit : DEFAULT_MAX_PAYLOAD,
  };
}

function toStrings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : [];
}

function clientPlatform(): string {
  if (process.platform === "win32") return "windows";
  return process.platform === "darwin" ? "darwin" : "linux";
}
