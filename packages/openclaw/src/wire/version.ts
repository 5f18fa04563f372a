import type { CallOptions, Gateways, GatewayTarget } from "@board/core/context/gateways";
import { cleanText } from "./failure.ts";
import { asRecord } from "./frame.ts";

/** A host's calendar version: `YYYY.M.D` with an optional `-REV`. Numbers may be padded with zeros. */
interface CalVer {
  year: number;
  month: number;
  day: number;
  revision: number;
}

/** The minimum that applies when the setting is blank (docs/reference/gateways.md#minimum-version). */
const DEFAULT_MINIMUM = "2026.1.30";

/** `unknown` accepts the host with a warning, and `incompatible` refuses it. Both contain the text to show. */
export type VersionVerdict = { kind: "ok" } | { kind: "unknown"; message: string } | { kind: "incompatible"; message: string };

/** Returns null for anything that is not CalVer, such as `2026.13.1` or `2026.2.0-beta`. */
export function parseVersion(text: string): CalVer | null {
  const match = /^v?(\d{4})\.(\d{1,2})\.(\d{1,2})(?:-(\d{1,9}))?$/i.exec(text.trim());
  if (match === null) return null;
  const [year = 0, month = 0, day = 0, revision = 0] = match.slice(1).map((part) => Number(part ?? 0));
  return month >= 1 && month <= 12 && day >= 1 && day <= 31 ? { year, month, day, revision } : null;
}

/** Compares two versions. The result is negative when `a` is older than `b`. */
export function compareVersions(a: CalVer, b: CalVer): number {
  return a.year - b.year || a.month - b.month || a.day - b.day || a.revision - b.revision;
}

/** Compares a version (null when unknown) with GATEWAY_MIN_VERSION. An invalid setting makes every host incompatible. */
export function checkVersion(version: string | null, minimum: string): VersionVerdict {
  const required = parseVersion(minimum.trim() || DEFAULT_MINIMUM);
  if (required === null)
    return incompatible("The minimum gateway version is not usable: expected calver YYYY.M.D or YYYY.M.D-REV.");
  if (version === null) return { kind: "unknown", message: "The service was unable to determine gateway version." };
  const actual = parseVersion(version);
  if (actual === null)
    return incompatible(`Gateway reports an unsupported version format: ${version.slice(0, 100)} (expected calver YYYY.M.D).`);
  if (compareVersions(actual, required) >= 0) return { kind: "ok" };
  return incompatible(`Gateway version ${version} is not supported; at least ${minimum.trim() || DEFAULT_MINIMUM} is required.`);
}

/**
 * Returns the version in a host's hello, else the version that last wrote its configuration, because development builds report
 * none. Text that only starts like a version is returned unchanged, so that `checkVersion` refuses it. Null means unknown.
 * Rejects with a GatewayError when the host cannot be reached.
 */
export async function fetchVersion(gateways: Gateways, target: GatewayTarget, options?: CallOptions): Promise<string | null> {
  const { version } = await gateways.hello(target, options);
  if (version !== null && parseVersion(version) !== null) return version;
  const configured = await gateways.request(target, "config.get", {}, options).then(lastTouchedVersion, () => null);
  if (configured !== null) return configured;
  return version !== null && /^v?\d/i.test(version) ? version : null;
}

function lastTouchedVersion(payload: unknown): string | null {
  const version = asRecord(asRecord(asRecord(payload)?.config)?.meta)?.lastTouchedVersion;
  return typeof version === "string" ? cleanText(version) || null : null;
}

function incompatible(message: string): VersionVerdict {
  return { kind: "incompatible", message };
}
