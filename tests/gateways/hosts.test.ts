import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hostContract } from "./contract.ts";
import { RELEASES } from "./install.ts";
import { type RealHost, startRealHost } from "./real-host.ts";
import { openStage, type Stage } from "./stage.ts";

/** The newest asks for its plugin feed, whatever its settings. */
const CURIOUS: Record<string, string[]> = { "2026.9.6": ["clawhub.ai"] };

/** One after the other: each takes up to a gigabyte. */
describe.each(RELEASES)("%s", (release) => {
  let stage: Stage;
  let host: RealHost;
  beforeAll(async () => {
    stage = await openStage();
  });
  afterAll(() => stage?.close());

  hostContract({
    release,
    stage: () => stage,
    start: async () => (host = await startRealHost(release)),
    // Older ones let a client patch their configuration three times a minute.
    patience_ms: 240_000,
  });

  test("nothing left the machine", () => {
    expect(host.outside().filter((name) => !CURIOUS[release]?.includes(name))).toEqual([]);
  });
});
