import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openBrowser } from "@board/local/open-browser";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { cleanUpPrograms, temporaryFolder } from "../support/program.ts";

const LINK = "http://127.0.0.1:8000/#link=s3cret-of-the-owner";
const WITHOUT = { CI: "", SSH_CONNECTION: "", BROWSER: "", DISPLAY: "", WAYLAND_DISPLAY: "" };

afterEach(() => vi.unstubAllEnvs());
afterAll(cleanUpPrograms);

/** Opens the link where `xdg-open` is a program that notes its arguments. */
function open(environment: Record<string, string>): { page: string; noted: string } {
  const folder = temporaryFolder();
  mkdirSync(path.join(folder, "secrets"));
  const noted = path.join(folder, "noted");
  writeFileSync(path.join(folder, "xdg-open"), `#!/bin/sh\nprintf '%s\\n' "$@" > ${noted}.part && mv ${noted}.part ${noted}\n`, {
    mode: 0o700,
  });
  const PATH = `${folder}:${process.env["PATH"]}`;
  for (const [name, value] of Object.entries({ ...WITHOUT, PATH, ...environment })) vi.stubEnv(name, value);
  openBrowser(LINK, folder);
  return { page: path.join(folder, "secrets/open.html"), noted };
}

describe.runIf(process.platform === "linux")("the browser of the first start", () => {
  test.each(["DISPLAY", "WAYLAND_DISPLAY"])("opens with %s, and only a file of the owner contains the link", async (name) => {
    const { page, noted } = open({ [name]: ":0" });
    await vi.waitUntil(() => existsSync(noted), { timeout: 20_000, interval: 20 });
    const [address, ...others] = readFileSync(noted, "utf8").trim().split("\n");
    expect([fileURLToPath(address!), others]).toEqual([page, []]);
    expect(readFileSync(page, "utf8")).toContain(`url=${LINK}"`);
    expect(statSync(page).mode & 0o777).toBe(0o600);
  });

  test.each([
    ["without a screen", {}],
    ["over SSH", { DISPLAY: ":0", SSH_CONNECTION: "203.0.113.7 50000 203.0.113.8 22" }],
    ["in continuous integration", { DISPLAY: ":0", CI: "true" }],
    ["if the person has switched it off", { DISPLAY: ":0", BROWSER: "none" }],
  ])("does not open %s, and no file contains the link", (_where, environment) => {
    const { page } = open(environment);
    expect(existsSync(page)).toBe(false);
  });

  test("may be missing, which does not end the service", async () => {
    expect(() => open({ DISPLAY: ":0", PATH: temporaryFolder() })).not.toThrow();
    // The error of a missing program arrives after the call, and an error that nobody handles fails the test.
    await setImmediate();
  });
});
