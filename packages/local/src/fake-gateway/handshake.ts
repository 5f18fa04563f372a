import type { IncomingMessage } from "node:http";
import type { Host } from "./host.ts";
import { isLoopbackName, isOriginAllowed } from "./origin.ts";
import { approve, request } from "./pairing.ts";
import { Refusal } from "./refusal.ts";
import { connectSchema } from "./schema.ts";
import { deviceIdOf, isSigned } from "./signature.ts";

export interface ConnectParams {
  minProtocol: number;
  maxProtocol: number;
  client: { id: string; mode: string; platform: string; deviceFamily?: string };
  role?: string;
  scopes?: string[];
  device?: { id: string; publicKey: string; signature: string; signedAt: number; nonce?: string };
  auth?: { token?: string };
}

/** What an accepted client may do, and the `auth` part of its hello. */
export interface Admission {
  scopes: readonly string[];
  device_id: string | null;
  auth: object;
}

const CONTROL_UI = "openclaw-control-ui";

/** Decides on `connect` in the order a host does. Throws a Refusal; protocol mismatches carry the code PROTOCOL_MISMATCH. */
export function admit(host: Host, upgrade: IncomingMessage, nonce: string, value: unknown): Admission {
  const { dialect, options } = host;
  const problems = connectSchema(dialect.nonce_required)(value, "");
  if (problems.length > 0) throw new Refusal(`invalid connect params: ${problems.join("; ")}`);
  const params = value as ConnectParams;
  if (params.minProtocol > dialect.protocol || params.maxProtocol < dialect.protocol) throw protocolMismatch(host, params);
  const role = params.role ?? "operator";
  if (role !== "operator" && role !== "node") throw new Refusal("invalid role");
  const scopes = params.scopes?.length ? params.scopes : dialect.empty_scopes_are_admin ? ["operator.admin"] : [];
  const controlUi = params.client.id === CONTROL_UI;
  if (controlUi && !isOriginAllowed(host, upgrade)) {
    const text = "origin not allowed (open the Control UI from the gateway host or allow it in gateway.controlUi.allowedOrigins)";
    throw refusal(host, text, "CONTROL_UI_ORIGIN_NOT_ALLOWED");
  }
  const local = !options.remote && isLoopbackName(upgrade.headers.host) && upgrade.headers["x-forwarded-for"] === undefined;
  if (params.device === undefined) {
    admitWithoutDevice(host, params, controlUi);
    return { scopes, device_id: null, auth: { role, scopes } };
  }
  const { device } = params;
  checkDevice(host, params, role, nonce, local);
  const token = params.auth?.token;
  if (token === undefined || token !== host.devices.paired.get(device.id)?.token) checkToken(host, params, controlUi);
  if (controlUi && dialect.protocol === 4) {
    throw new Refusal("protocol mismatch: Control UI updated; reload this page to continue", { code: "UNAVAILABLE" });
  }
  const asked = { deviceId: device.id, publicKey: device.publicKey, scopes };
  if (dialect.backend_is_trusted && local) return { scopes, device_id: device.id, auth: { method: "token", role, scopes } };
  if (local) approve(host.devices, asked);
  const paired = host.devices.paired.get(device.id);
  const covered =
    paired !== undefined && (paired.scopes.includes("operator.admin") || scopes.every((scope) => paired.scopes.includes(scope)));
  if (!covered) throw pairingRequired(host, asked);
  return {
    scopes,
    device_id: device.id,
    auth: { deviceToken: paired.token, role, scopes: scopes.toSorted(), issuedAtMs: Date.now() },
  };
}

function admitWithoutDevice(host: Host, params: ConnectParams, controlUi: boolean): void {
  const { dialect, options } = host;
  if (controlUi && !(dialect.control_ui_flag && options.insecure_control_ui)) {
    throw refusal(host, dialect.control_ui_refusal, "CONTROL_UI_DEVICE_IDENTITY_REQUIRED");
  }
  if (!controlUi && params.auth?.token === undefined) {
    throw new Refusal("device identity required", { code: "NOT_PAIRED", ...detail(host, "DEVICE_IDENTITY_REQUIRED") });
  }
  checkToken(host, params, controlUi);
}

function checkDevice(host: Host, params: ConnectParams, role: string, nonce: string, local: boolean): void {
  const { device, client } = params;
  if (device === undefined) return;
  if (deviceIdOf(device.publicKey) !== device.id)
    throw refusal(host, "device identity mismatch", "DEVICE_AUTH_DEVICE_ID_MISMATCH");
  if (Math.abs(Date.now() - device.signedAt) > host.dialect.signature_skew_ms) {
    throw refusal(host, "device signature expired", "DEVICE_AUTH_SIGNATURE_EXPIRED");
  }
  if (device.nonce === undefined && !local) throw refusal(host, "device nonce required", "DEVICE_AUTH_NONCE_REQUIRED");
  if (device.nonce !== undefined && device.nonce !== nonce)
    throw refusal(host, "device nonce mismatch", "DEVICE_AUTH_NONCE_MISMATCH");
  const signed = { client, role, scopes: params.scopes ?? [], token: params.auth?.token ?? "", device };
  if (!isSigned(signed)) throw refusal(host, "device signature invalid", "DEVICE_AUTH_SIGNATURE_INVALID");
}

function checkToken(host: Host, params: ConnectParams, controlUi: boolean): void {
  const token = params.auth?.token;
  if (host.options.token !== null && token === host.options.token) return;
  const hint = controlUi ? "open the dashboard URL and paste the token in Control UI settings" : "provide gateway auth token";
  const kind = token === undefined ? "missing" : "mismatch";
  throw refusal(host, `unauthorized: gateway token ${kind} (${hint})`, `AUTH_TOKEN_${kind.toUpperCase()}`);
}

function pairingRequired(host: Host, asked: { deviceId: string; publicKey: string; scopes: readonly string[] }): Refusal {
  const open = request(host.devices, asked);
  host.broadcast("device.pair.requested", open);
  const { detailed_errors, pairing_text } = host.dialect;
  const more = detailed_errors ? { code: "PAIRING_REQUIRED", reason: "not-paired" } : {};
  return new Refusal(pairing_text, { code: "NOT_PAIRED", details: { ...more, requestId: open.requestId } });
}

function protocolMismatch(host: Host, params: ConnectParams): Refusal {
  const expectedProtocol = host.dialect.protocol;
  const { minProtocol: clientMinProtocol, maxProtocol: clientMaxProtocol } = params;
  const more =
    expectedProtocol === 4 ? { code: "PROTOCOL_MISMATCH", clientMinProtocol, clientMaxProtocol, minimumProbeProtocol: 3 } : {};
  return new Refusal("protocol mismatch", { details: { ...more, expectedProtocol } });
}

function refusal(host: Host, message: string, code: string): Refusal {
  return new Refusal(message, detail(host, code));
}

function detail(host: Host, code: string): { details?: { code: string } } {
  return host.dialect.detailed_errors ? { details: { code } } : {};
}
