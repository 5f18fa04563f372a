import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hostContract } from "./contract.ts";
import { RELEASES } from "./install.ts";
import { type RealHost, startRealHost } from "./real-host.ts";
import { startRunningService, type RunningService } from "../../support/running-service.ts";

/** The newest release requests its plugin feed, whatever its settings are. */
const KNOWN_OUTBOUND: Record<string, string[]> = { "2026.9.6": ["clawhub.ai"] };

/** The releases run one after the other, since each needs up to a gigabyte of memory. */
describe.each(RELEASES)("OpenClaw %s", (release) => {
  let stage: RunningService;
  let host: RealHost;
  beforeAll(async () => {
    stage = await startRunningService();
  });
  afterAll(() => stage?.close());

  hostContract({
    release,
    stage: () => stage,
    start: async () => (host = await startRealHost(release)),
    // Older releases accept three config patches per client and minute.
    timeout_ms: 240_000,
    max_wakes: 2,
  });

  test("no connection of the host left the machine", () => {
    expect(host.listBlockedHosts().filter((name) => !KNOWN_OUTBOUND[release]?.includes(name))).toEqual([]);
  });
});
