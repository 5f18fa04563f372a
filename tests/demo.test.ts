import { readdirSync } from "node:fs";
import { afterEach, expect, test, vi } from "vitest";
import { cleanUp, runProgram, startProgram, temporaryFolder } from "./support/program.ts";

// The demo takes its time, so that people can follow it.
vi.setConfig({ testTimeout: 90_000 });
afterEach(cleanUp);

test("the demo tells its story from set-up through an outage to a settled account, and leaves nothing behind", async () => {
  const TMPDIR = temporaryFolder();
  // Settings that lead to real data are not followed.
  const { code, stdout, stderr } = await runProgram("demo", {
    TMPDIR,
    DEMO_SECONDS: "10",
    DATABASE_URL: "postgres://127.0.0.1:1/real",
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const milestones = [
    /service {4}http:\/\/127\.0\.0\.1:\d+$/,
    /token {6}\S{50,}$/,
    /you +register the gateway Office, OpenClaw [\d.]+: connected$/,
    /GitHub +push by nora: .+ → 202$/,
    /gateway +wakes Iris for the push by nora$/,
    /Iris +notes: nora pushed to acme\/shop/,
    /Iris +says: @milo please/,
    /Milo +answers: @iris/,
    /gateway +goes down/,
    /customer +mail from .+ → 202$/,
    /gateway +is back/,
    /gateway +wakes Iris for the mail from .+, \d+\.\d s after the post$/,
    /Iris +notes: lea@mail\.example writes: Where is my refund\?$/,
    /accepted +4 /,
    /delivered +4 +none lost, none twice$/,
  ];
  const lines = stdout.split("\n");
  for (const milestone of milestones) {
    const at = lines.findIndex((line) => milestone.test(line));
    expect(at, `${milestone} in its place in\n${stdout}`).toBeGreaterThanOrEqual(0);
    lines.splice(0, at + 1);
  }
  expect(stdout).not.toContain("\u001b");
  expect(readdirSync(TMPDIR)).toEqual([]);
});

test.each(["SIGINT", "SIGTERM"] as const)("%s ends the demo in good order, whatever is going on", async (signal) => {
  const TMPDIR = temporaryFolder();
  const demo = startProgram("demo", { TMPDIR });
  const [, url] = await demo.says(/service {4}(\S+)/);
  await demo.says(/wakes Iris/);
  expect(await demo.stop(signal)).toEqual({ code: 0, signal: null });
  expect(demo.stderr).toBe("");
  expect(demo.stdout).toMatch(/^ {2}accepted +\d/m);
  await expect(fetch(`${url}/healthz`)).rejects.toThrow("fetch failed");
  expect(readdirSync(TMPDIR)).toEqual([]);
});

test("a signal while the demo is still starting ends it too", async () => {
  const TMPDIR = temporaryFolder();
  const demo = startProgram("demo", { TMPDIR });
  await demo.says(/Starting/);
  expect(await demo.stop()).toEqual({ code: 0, signal: null });
  expect(demo.stderr).toBe("");
  expect(readdirSync(TMPDIR)).toEqual([]);
});

test("a bad DEMO_SECONDS is told in one line", async () => {
  const refused = await runProgram("demo", { DEMO_SECONDS: "soon" });
  expect(refused).toMatchObject({ code: 1, stdout: "", stderr: "DEMO_SECONDS must be a whole number of seconds\n" });
});
