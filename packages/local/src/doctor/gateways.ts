import type { Context } from "@board/core/context";
import { isAllowedHost } from "@board/core/gateway/address";
import { type GatewayHello, GatewayError } from "@board/core/gateway/client";
import { findDevice } from "@board/core/gateway/device-key";
import { isProtocolMismatch, toGatewayMessage } from "@board/core/gateway/failure";
import { dialUrl, SCOPES } from "@board/core/gateway/handshake";
import { type GatewayRow, listAllGateways, toTarget } from "@board/core/gateway/target";
import { checkVersion } from "@board/core/gateway/version";
import { createGateways } from "@board/core/gateway/websocket";
import { errorText } from "@board/core/log";
import type { Settings } from "@board/core/settings";
import { type Finding, judgeClock, ok, warning, wrong } from "./finding.ts";

type Looking = Pick<Context, "db" | "settings">;

const AT_A_TIME = 8;
const HELLO_MS = 10_000;
const ANOTHER_KEY = "Set ENCRYPTION_KEY to the key that this database was written with, or enter the secret again.";

/** Every gateway: whether it may be dialled, lets this service in, and is one that it can work with. Only says hello. */
export async function checkGateways(ctx: Looking): Promise<Finding[]> {
  const rows = await listAllGateways(ctx);
  if (rows.length === 0) return [ok("gateways", "there are none")];
  const { settings } = ctx;
  const rules = { allowed_hosts: settings.gateway_allowed_hosts, private_addresses_allowed: settings.private_gateways_allowed };
  const device = await findDevice(ctx).catch((error: unknown) => wrong("device key", errorText(error), ANOTHER_KEY));
  if (device && "state" in device) return [device];
  const hosts = createGateways({
    device: async () => device ?? Promise.reject(new GatewayError("no device identity", { retryable: false })),
    settings: rules,
  });
  const findings: Finding[] = [];
  try {
    for (let at = 0; at < rows.length; at += AT_A_TIME)
      findings.push(...(await Promise.all(rows.slice(at, at + AT_A_TIME).map((row) => checkOne(row)))).flat());
  } finally {
    await hosts.close();
  }
  return findings;

  async function checkOne(row: GatewayRow): Promise<Finding[]> {
    const check = `gateway ${row.name}`;
    let target: ReturnType<typeof toTarget>;
    try {
      target = toTarget(ctx, row);
    } catch (error) {
      return [wrong(check, errorText(error), ANOTHER_KEY)];
    }
    try {
      if (!(await isAllowedHost(row.url, rules)))
        return [wrong(check, `${hostOf(row)} is a private address`, "List its host in GATEWAY_ALLOWED_HOSTS if it is meant.")];
      const hello = await hosts.hello(target, { timeout_ms: HELLO_MS });
      return [...judgeHello(check, row, hello, settings), ...judgeWayBack(check, row, settings)];
    } catch (error) {
      return [wrong(check, `${hostOf(row)}: ${toGatewayMessage(error)}`, remedyFor(error))];
    }
  }
}

/** The address without what may be secret in it. */
function hostOf({ url }: GatewayRow): string {
  try {
    return dialUrl(url).host;
  } catch {
    return "its url";
  }
}

function judgeHello(check: string, row: GatewayRow, hello: GatewayHello, settings: Settings): Finding[] {
  // A development build tells no version; one that it last wrote its configuration with is not asked for here.
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
          "Update OpenClaw on the host, or lower GATEWAY_MIN_VERSION if the version is known to work.",
        )
      : null,
    verdict.kind === "unknown"
      ? warning(
          check,
          `it reports the version ${hello.version ?? "none"}`,
          "Run a released version of OpenClaw on the host, unless this is a development build on purpose.",
        )
      : null,
    missing.length > 0
      ? wrong(
          check,
          `it does not grant ${missing.join(", ")}`,
          "Approve this service's device on the host again, with these scopes.",
        )
      : null,
    hello.clock_ahead_ms === null ? null : judgeClock(check, hello.clock_ahead_ms),
  ].filter((finding) => finding !== null);
  if (findings.length > 0) return findings;
  const scopes = hello.scopes === null ? "scopes not told" : "all scopes";
  return [ok(check, `${hostOf(row)} lets this service in: version ${hello.version}, protocol ${hello.protocol}, ${scopes}`)];
}

const LOOPBACK = /^(localhost|127\.[\d.]+|\[::1\])$/;

/** Agents call back at the address that their files name. */
function judgeWayBack(check: string, row: GatewayRow, { base_url, service_url }: Settings): Finding[] {
  if (base_url !== null || LOOPBACK.test(dialUrl(row.url).hostname)) return [];
  return [
    warning(
      check,
      `its agents are told to call ${service_url}, which another machine cannot reach`,
      "Set BASE_URL to the address at which agents reach this service.",
    ),
  ];
}

function remedyFor(error: unknown): string {
  if (!(error instanceof GatewayError)) return "Report this: it is no answer of a gateway.";
  const { failure, message } = error;
  if (message === "no device identity")
    return "Start the service once: its device identity is made when it first dials a gateway.";
  if (/pairing required|not[ _-]?paired/i.test(`${message} ${failure.code ?? ""}`)) {
    const { requestId } = (failure.details ?? {}) as { requestId?: unknown };
    const request = typeof requestId === "string" ? ` ${requestId}` : "";
    return `Approve this service's device on the host: openclaw devices approve${request}.`;
  }
  if (/signature expired/i.test(message))
    return "Set the clocks of both machines by NTP: the host refuses signatures of another time.";
  if (/token/i.test(message) || /unauthorized|forbidden/i.test(message))
    return "Enter the host's gateway token for this gateway again.";
  if (/missing scope/i.test(message)) return "Approve this service's device on the host again, with all scopes.";
  if (isProtocolMismatch(error)) return "Update OpenClaw on the host: it speaks no protocol that this service does.";
  if (/origin|control ui/i.test(message))
    return "Turn off disable_device_pairing for this gateway, and approve the device on the host.";
  return "See that the gateway runs, that its address is right, and that no firewall is in between.";
}
