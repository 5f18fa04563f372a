import { expect, test } from "vitest";
import type { Gateways } from "../../packages/core/src/context/gateways.ts";
import { GatewayError } from "../../packages/openclaw/src/wire/gateway-error.ts";
import { checkVersion, compareVersions, parseVersion, fetchVersion } from "../../packages/openclaw/src/wire/version.ts";

const target = { url: "ws://gateway.example", token: null, disable_device_pairing: false, allow_insecure_tls: false };

test.each([
  ["2026.2.9", { year: 2026, month: 2, day: 9, revision: 0 }],
  ["v2026.02.09", { year: 2026, month: 2, day: 9, revision: 0 }],
  [" 2026.2.9-3 ", { year: 2026, month: 2, day: 9, revision: 3 }],
])("%s is a calendar version, and zero padding does not matter", (text, version) => {
  expect(parseVersion(text)).toEqual(version);
});

test.each([
  "",
  "dev",
  "2026.13.1",
  "2026.0.1",
  "2026.1.32",
  "2026.2.0",
  "2026.2.0-beta",
  "2026.2",
  "2026.2.9.1",
  "26.2.9",
  "2026.2.9-",
  "x2026.2.9",
])("%j is not a calendar version", (text) => {
  expect(parseVersion(text)).toBeNull();
});

test("versions are ordered by year, month, day and revision, as numbers", () => {
  const sorted = ["2025.12.31", "2026.1.30", "2026.2.9", "2026.2.9-2", "2026.2.9-10", "2026.2.26", "2026.10.1"];
  const parsed = sorted.map((text) => parseVersion(text)).filter((version) => version !== null);
  expect(parsed).toHaveLength(sorted.length);
  expect(parsed.toReversed().toSorted(compareVersions)).toEqual(parsed);
});

test.each(["2026.2.9", "2026.02.09", "v2026.2.9-1", "2026.9.6"])("%s meets the minimum 2026.02.9", (version) => {
  expect(checkVersion(version, "2026.02.9")).toEqual({ kind: "ok" });
});

test("a host below the minimum version is refused as not supported", () => {
  expect(checkVersion("2026.2.8", "2026.2.9")).toEqual({
    kind: "incompatible",
    message: expect.stringContaining("not supported"),
  });
});

test("a malformed version is refused because of its format", () => {
  for (const version of ["2026.13.1", "2026.2.0-beta"]) {
    expect(checkVersion(version, "2026.2.9")).toEqual({
      kind: "incompatible",
      message: expect.stringContaining("unsupported version format"),
    });
  }
});

test("an unknown version is accepted with a warning", () => {
  expect(checkVersion(null, "2026.2.9")).toEqual({
    kind: "unknown",
    message: expect.stringContaining("unable to determine gateway version"),
  });
});

test("a blank minimum means 2026.1.30, and an invalid minimum makes every host incompatible", () => {
  expect(checkVersion("2026.1.30", " ").kind).toBe("ok");
  expect(checkVersion("2026.1.29", "").kind).toBe("incompatible");
  for (const version of ["2026.9.6", null]) {
    expect(checkVersion(version, "latest")).toEqual({
      kind: "incompatible",
      message: expect.stringContaining("expected calver"),
    });
  }
});

test("a calendar version in the hello is used without another request", async () => {
  const { gateways, asked } = host("2026.5.7", { config: { meta: { lastTouchedVersion: "2026.1.1" } } });
  expect(await fetchVersion(gateways, target)).toBe("2026.5.7");
  expect(asked).toEqual([]);
});

test.each(["dev", null, "2026.2.0-beta"])(
  "with %j in the hello, the version that last wrote the configuration is used",
  async (version) => {
    const { gateways, asked } = host(version, { config: { meta: { lastTouchedVersion: " 2026.2.9 " } } });
    expect(await fetchVersion(gateways, target)).toBe("2026.2.9");
    expect(asked).toEqual(["config.get"]);
  },
);

test.each([
  null,
  {},
  { config: {} },
  { config: { meta: { lastTouchedVersion: 7 } } },
  new GatewayError("missing scope: operator.admin"),
])("a development build with the configuration %j has no known version", async (answer) => {
  expect(await fetchVersion(host("dev", answer).gateways, target)).toBeNull();
});

test("a malformed version is returned, so that the version check refuses it", async () => {
  expect(await fetchVersion(host("2026.13.1", {}).gateways, target)).toBe("2026.13.1");
});

function host(version: string | null, configGet: unknown): { gateways: Gateways; asked: string[] } {
  const requested: string[] = [];
  const gateways: Gateways = {
    hello: async () => ({ protocol: 3, version, methods: [], events: [], scopes: null, clock_ahead_ms: null, max_payload: 1 }),
    async request(_target, method) {
      requested.push(method);
      if (configGet instanceof Error) throw configGet;
      return configGet;
    },
    close: async () => {},
  };
  return { gateways, asked: requested };
}
