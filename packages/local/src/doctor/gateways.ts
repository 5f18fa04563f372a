import type { Context } from "@board/core/context/context";
import { toAddressRules } from "@board/openclaw/gateway/address-rules";
import { isAllowedHost } from "@board/openclaw/wire/address";
import { type GatewayHello } from "@board/core/context/gateways";
import { GatewayError } from "@board/openclaw/wire/gateway-error";
import { findDevice } from "@board/openclaw/host/device-key";
import { isProtocolMismatch, toGatewayMessage } from "@board/openclaw/wire/failure";
import { toDialUrl, SCOPES } from "@board/openclaw/wire/handshake";
import { type GatewayRow, listAllGateways, toTarget } from "@board/core/gateway/target";
import { checkVersion } from "@board/openclaw/wire/version";
import { createGateways } from "@board/openclaw/wire/websocket";
import { errorText } from "@board/core/values/log";
import type { Settings } from "@board/core/config/settings";
import { type Finding, checkClock, ok, warning, wrong } from "./finding.ts";

type CheckContext = Pick<Context, "db" | "settings">;

const MAX_CONCURRENT_CHECKS = 8;
const HELLO_TIMEOUT_MS = 10_000;
const WRONG_KEY_REMEDY = "Set ENCRYPTION_KEY to the key that this database was written with, or enter the secret again.";

/**
 * Checks that each gateway's address is allowed, and that its host accepts this service and is compatible. It connects and calls
 * nothing else.
 */
export async function checkGateways(ctx: CheckContext): Promise<Finding[]> {
  const rows = await listAllGateways(ctx);
  if (rows.length === 0) return [ok("gateways", "none are registered")];
  const { settings } = ctx;
  const rules = toAddressRules(settings);
  const device = await findDevice(ctx).catch((error: unknown) => wrong("device key", errorText(error), WRONG_KEY_REMEDY));
  if (device && "state" in device) return [device];
  const hosts = createGateways({
    device: async () => device ?? Promise.reject(new GatewayError("no device identity", { retryable: false })),
    settings: rules,
  });
  const findings: Finding[] = [];
  try {
    for (let at = 0; at < rows.length; at += MAX_CONCURRENT_CHECKS)
      findings.push(...(await Promise.all(rows.slice(at, at + MAX_CONCURRENT_CHECKS).map((row) => checkGateway(row)))).flat());
  } finally {
    await hosts.close();
  }
  return findings;

  async function checkGateway(row: GatewayRow): Promise<Finding[]> {
    const check = `gateway ${row.name}`;
    let target: ReturnType<typeof toTarget>;
    try {
      target = toTarget(ctx, row);
    } catch (error) {
      return [wrong(check, errorText(error), WRONG_KEY_REMEDY)];
    }
    try {
      if (!(await isAllowedHost(row.url, rules)))
        return [
          wrong(check, `${hostOf(row)} is a private address`, "Add its host to GATEWAY_ALLOWED_HOSTS if this is intended."),
        ];
      const hello = await hosts.hello(target, { timeout_ms: HELLO_TIMEOUT_MS });
      return [...checkHello(check, row, hello, settings), ...checkCallbackAddress(check, row, settings)];
    } catch (error) {
      return [wrong(check, `${hostOf(row)}: ${toGatewayMessage(error)}`, remedyFor(error))];
    }
  }
}

/** Returns the host of the URL, because the rest of the URL may contain secrets. */
function hostOf({ url }: GatewayRow): string {
  try {
    return toDialUrl(url).host;
  } catch {
    return "its url";
  }
}

function checkHello(check: string, row: GatewayRow, hello: GatewayHello, settings: Settings): Finding[] {
  // A development build reports no version. The service reads it from the configuration instead, but the doctor does not.
  const version = hello.version !== null && /^v?\d/i.test(hello.version) ? hello.version : null;
  const verdict = checkVersion(version, settings.gateway_min_version);
  const missing = hello.scopes?.includes("operator.admin")
    ? []
    : SCOPES.filter((scope) => hello.scopes?.includes(scope) === false);
  const findings = [
    verdict.kind === "incompatible"
      ? wrong(
          check,
          verdict.message,
          "Update OpenClaw on the host, or lower GATEWAY_MIN_VERSION if this version is known to work.",
        )
      : null,
    verdict.kind === "unknown"
      ? warning(
          check,
          `it reports the version ${hello.version ?? "none"}`,
          "Run a released version of OpenClaw on the host, unless a development build is intended.",
        )
      : null,
    missing.length > 0
      ? wrong(
          check,
          `it does not grant ${missing.join(", ")}`,
          "Approve this service's device on the host again, with these scopes.",
        )
      : null,
    hello.clock_ahead_ms === null ? null : checkClock(check, hello.clock_ahead_ms),
  ].filter((finding) => finding !== null);
  if (findings.length > 0) return findings;
  const scopes = hello.scopes === null ? "scopes not reported" : "all scopes";
  return [ok(check, `${hostOf(row)} accepts this service: version ${hello.version}, protocol ${hello.protocol}, ${scopes}`)];
}

const LOOPBACK = /^(localhost|127\.[\d.]+|\[::1\])$/;

/** Checks the address in agents' files at which agents call the service. */
function checkCallbackAddress(check: string, row: GatewayRow, { base_url, service_url }: Settings): Finding[] {
  if (base_url !== null || LOOPBACK.test(toDialUrl(row.url).hostname)) return [];
  return [
    warning(
      check,
      `its agents call ${service_url}, which another machine cannot reach`,
      "Set BASE_URL to an address at which agents can reach this service.",
    ),
  ];
}

function remedyFor(error: unknown): string {
  if (!(error instanceof GatewayError)) return "Please report this as a bug: the error does not come from a gateway.";
  const { failure, message } = error;
  if (message === "no device identity")
    return "Start the service once: it creates its device identity when it first connects to a gateway.";
  if (/pairing required|not[ _-]?paired/i.test(`${message} ${failure.code ?? ""}`)) {
    const { requestId } = (failure.details ?? {}) as { requestId?: unknown };
    const request = typeof requestId === "string" ? ` ${requestId}` : "";
    return `Approve this service's device on the host: openclaw devices approve${request}.`;
  }
  if (/signature expired/i.test(message))
    return "Synchronize the clocks of both machines with NTP: the host rejects signatures with another time.";
  if (/token/i.test(message) || /unauthorized|forbidden/i.test(message)) return "Enter the host's token for this gateway again.";
  if (/missing scope/i.test(message)) return "Approve this service's device on the host again, with all scopes.";
  if (isProtocolMismatch(error)) return "Update OpenClaw on the host: its protocol is not supported.";
  if (/origin|control ui/i.test(message))
    return "Turn off disable_device_pairing for this gateway, and approve the device on the host.";
  return "Check that the gateway is running, that its address is right, and that no firewall blocks it.";
}
