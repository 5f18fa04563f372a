import type { IncomingMessage } from "node:http";
import type { Host } from "./host.ts";
import { isLoopbackName, isOriginAllowed } from "./origin.ts";
import { approveDevice, requestPairing } from "./pairing.ts";
import { RpcError } from "./rpc-error.ts";
import { connectSchema } from "./validators.ts";
import { deviceIdOf, isSignatureValid } from "./signature.ts";

interface ConnectParams {
  minProtocol: number;
  maxProtocol: number;
  client: { id: string; mode: string; platform: string; deviceFamily?: string };
  role?: string;
  scopes?: string[];
  device?: { id: string; publicKey: string; signature: string; signedAt: number; nonce?: string };
  auth?: { token?: string };
}

/** The scopes of an accepted client, and the `auth` part of its hello. */
export interface ConnectResult {
  scopes: readonly string[];
  device_id: string | null;
  auth: object;
}

const CONTROL_UI = "openclaw-control-ui";

/** Checks `connect` in the order of a real host. Throws an RpcError if the client is rejected. */
export function acceptConnect(host: Host, upgrade: IncomingMessage, nonce: string, value: unknown): ConnectResult {
  const { dialect, options } = host;
  const problems = connectSchema(dialect.nonce_required)(value, "");
  if (problems.length > 0) throw new RpcError(`invalid connect params: ${problems.join("; ")}`);
  const params = value as ConnectParams;
  if (params.minProtocol > dialect.protocol || params.maxProtocol < dialect.protocol) throw protocolMismatch(host, params);
  const role = params.role ?? "operator";
  if (role !== "operator" && role !== "node") throw new RpcError("invalid role");
  const scopes = params.scopes?.length ? params.scopes : dialect.empty_scopes_are_admin ? ["operator.admin"] : [];
  const controlUi = params.client.id === CONTROL_UI;
  if (controlUi && !isOriginAllowed(host, upgrade)) {
    const text = "origin not allowed (open the Control UI from the gateway host or allow it in gateway.controlUi.allowedOrigins)";
    throw errorWithCode(host, text, "CONTROL_UI_ORIGIN_NOT_ALLOWED");
  }
  const local = !options.remote && isLoopbackName(upgrade.headers.host) && upgrade.headers["x-forwarded-for"] === undefined;
  if (params.device === undefined) {
    acceptWithoutDevice(host, params, controlUi);
    return { scopes, device_id: null, auth: { role, scopes } };
  }
  const { device } = params;
  checkDevice(host, params, role, nonce, local);
  const token = params.auth?.token;
  if (token === undefined || token !== host.devices.paired.get(device.id)?.token) checkToken(host, params, controlUi);
  if (controlUi && dialect.protocol === 4) {
    throw new RpcError("protocol mismatch: Control UI updated; reload this page to continue", { code: "UNAVAILABLE" });
  }
  const pairingRequest = { deviceId: device.id, publicKey: device.publicKey, scopes };
  if (dialect.backend_is_trusted && local) return { scopes, device_id: device.id, auth: { method: "token", role, scopes } };
  if (local) approveDevice(host.devices, pairingRequest);
  const paired = host.devices.paired.get(device.id);
  const hasScopes =
    paired !== undefined && (paired.scopes.includes("operator.admin") || scopes.every((scope) => paired.scopes.includes(scope)));
  if (!hasScopes) throw pairingRequired(host, pairingRequest);
  return {
    scopes,
    device_id: device.id,
    auth: { deviceToken: paired.token, role, scopes: scopes.toSorted(), issuedAtMs: Date.now() },
  };
}

function acceptWithoutDevice(host: Host, params: ConnectParams, controlUi: boolean): void {
  const { dialect, options } = host;
  if (controlUi && !(dialect.control_ui_flag && options.allow_insecure_control_ui)) {
    throw errorWithCode(host, dialect.control_ui_refusal, "CONTROL_UI_DEVICE_IDENTITY_REQUIRED");
  }
  if (!controlUi && params.auth?.token === undefined) {
    throw new RpcError("device identity required", { code: "NOT_PAIRED", ...errorDetails(host, "DEVICE_IDENTITY_REQUIRED") });
  }
  checkToken(host, params, controlUi);
}

function checkDevice(host: Host, params: ConnectParams, role: string, nonce: string, local: boolean): void {
  const { device, client } = params;
  if (device === undefined) return;
  if (deviceIdOf(device.publicKey) !== device.id)
    throw errorWithCode(host, "device identity mismatch", "DEVICE_AUTH_DEVICE_ID_MISMATCH");
  if (Math.abs(Date.now() - device.signedAt) > host.dialect.signature_skew_ms) {
    throw errorWithCode(host, "device signature expired", "DEVICE_AUTH_SIGNATURE_EXPIRED");
  }
  if (device.nonce === undefined && !local) throw errorWithCode(host, "device nonce required", "DEVICE_AUTH_NONCE_REQUIRED");
  if (device.nonce !== undefined && device.nonce !== nonce)
    throw errorWithCode(host, "device nonce mismatch", "DEVICE_AUTH_NONCE_MISMATCH");
  const signed = { client, role, scopes: params.scopes ?? [], token: params.auth?.token ?? "", device };
  if (!isSignatureValid(signed)) throw errorWithCode(host, "device signature invalid", "DEVICE_AUTH_SIGNATURE_INVALID");
}

function checkToken(host: Host, params: ConnectParams, controlUi: boolean): void {
  const token = params.auth?.token;
  if (host.options.token !== null && token === host.options.token) return;
  const hint = controlUi ? "open the dashboard URL and paste the token in Control UI settings" : "provide gateway auth token";
  const kind = token === undefined ? "missing" : "mismatch";
  throw errorWithCode(host, `unauthorized: gateway token ${kind} (${hint})`, `AUTH_TOKEN_${kind.toUpperCase()}`);
}

function pairingRequired(host: Host, device: { deviceId: string; publicKey: string; scopes: readonly string[] }): RpcError {
  const open = requestPairing(host.devices, device);
  host.broadcast("device.pair.requested", open);
  const { detailed_errors, pairing_text } = host.dialect;
  const more = detailed_errors ? { code: "PAIRING_REQUIRED", reason: "not-paired" } : {};
  return new RpcError(pairing_text, { code: "NOT_PAIRED", details: { ...more, requestId: open.requestId } });
}

function protocolMismatch(host: Host, params: ConnectParams): RpcError {
  const expectedProtocol = host.dialect.protocol;
  const { minProtocol: clientMinProtocol, maxProtocol: clientMaxProtocol } = params;
  const more =
    expectedProtocol === 4 ? { code: "PROTOCOL_MISMATCH", clientMinProtocol, clientMaxProtocol, minimumProbeProtocol: 3 } : {};
  return new RpcError("protocol mismatch", { details: { ...more, expectedProtocol } });
}

function errorWithCode(host: Host, message: string, code: string): RpcError {
  return new RpcError(message, errorDetails(host, code));
}

function errorDetails(host: Host, code: string): { details?: { code: string } } {
  return host.dialect.detailed_errors ? { details: { code } } : {};
}
