import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { startLocalService as start } from "../support/local-service.ts";
import { cleanUpPrograms, dataFolder, runProgram, startProgram, temporaryFolder } from "../support/program.ts";

afterEach(cleanUpPrograms);

const lines = (text: string) => text.trimEnd().split("\n");

describe("the data folder", () => {
  test("the first start prints how to sign in and stores its secrets readable only by the owner", async () => {
    const folder = temporaryFolder();
    const first = await start(folder);
    expect((await first.call("GET", "/readyz")).status).toBe(200);
    expect((await first.call("GET", "/api/v1/users/me")).status).toBe(200);
    const mode = (name: string) => (statSync(path.join(folder, name)).mode & 0o777).toString(8);
    const secrets = readdirSync(path.join(folder, "secrets"));
    expect(secrets.toSorted()).toEqual(["encryption_key", "local_auth_token", "owner_link", "token_pepper"]);
    for (const name of secrets) expect(mode(`secrets/${name}`)).toBe("600");
    expect(mode("database")).toBe("700");

    const second = await runProgram("main", { DATA_DIR: folder, PORT: "0" });
    expect(second).toMatchObject({ code: 1, stdout: "" });
    expect(lines(second.stderr)).toEqual([expect.stringMatching(/is in use by process \d+\. Stop that process first/)]);
    expect((await first.call("GET", "/readyz")).status).toBe(200);

    expect(await first.stop("SIGINT")).toEqual({ code: 0, signal: null });
    expect(first.stderr).toBe("");
    const again = await start(folder);
    expect(again.token).toBe(first.token);
    expect(await again.stop("SIGTERM")).toEqual({ code: 0, signal: null });
  });

  test("a folder left after kill -9 is taken over, even if another process has the old process id", async () => {
    const folder = dataFolder();
    await (await start(folder)).stop("SIGKILL");
    for (const file of ["lock", "lock.pid"]) writeFileSync(path.join(folder, file), String(process.pid));
    const next = await start(folder);
    expect((await next.call("GET", "/readyz")).status).toBe(200);
  });

  test.each([{ state: "fresh" }, { state: "left by kill -9" }])(
    "one of several concurrent starts gets a folder that is $state",
    async ({ state }) => {
      const folder = state === "fresh" ? temporaryFolder() : dataFolder();
      if (state !== "fresh") await (await start(folder)).stop("SIGKILL");
      const starts = [1, 2, 3].map(() => startProgram("main", { DATA_DIR: folder, PORT: "0" }));
      const outcomes = await Promise.all(
        starts.map((server) =>
          Promise.race([server.waitForOutput(/ready at/).then(() => "ready"), server.exited.then(() => "refused")]),
        ),
      );
      expect(outcomes.toSorted()).toEqual(["ready", "refused", "refused"]);
      const errors = starts.map(({ stderr }) => stderr).filter((text) => text !== "");
      expect(errors).toEqual([expect.stringContaining("is in use by"), expect.stringContaining("is in use by")]);
    },
  );

  test("a signal during the first start stops it cleanly, and the next start succeeds", async () => {
    const folder = temporaryFolder();
    const cut = startProgram("main", { DATA_DIR: folder, PORT: "0" });
    await vi.waitUntil(() => readdirSync(folder).includes("database"), { timeout: 20_000 });
    expect(await cut.stop("SIGTERM")).toEqual({ code: 0, signal: null });
    expect(cut.stdout + cut.stderr).toMatch(/^Starting at http:\S+ with a new database …\n$/);
    expect((await (await start(folder)).call("GET", "/readyz")).status).toBe(200);
  });
});

describe("the generated token", () => {
  /** Makes a program believe that its output is a terminal. */
  const IN_TERMINAL = { NODE_OPTIONS: "--import data:text/javascript,process.stdout.isTTY=true" };

  test("a start whose output is not a terminal names the file of the token and does not print it", async () => {
    const folder = dataFolder();
    const service = await start(folder);
    const { stdout, stderr, url, token } = service;
    expect(stdout).toContain(`\n  console    ${url}/\n`);
    expect(stdout).toContain(`\n  token      in ${folder}/secrets/local_auth_token\n`);
    expect(stdout + stderr).not.toContain(token);
    await service.stop();
  });

  test("a terminal is shown the token, and the link that signs in with it", async () => {
    const folder = dataFolder();
    const program = startProgram("main", { DATA_DIR: folder, PORT: "0", ...IN_TERMINAL });
    await program.waitForOutput(/^ {2}data +/m);
    const token = readFileSync(path.join(folder, "secrets/local_auth_token"), "utf8").trim();
    expect(program.stdout).toMatch(new RegExp(`^ {2}console +http:\\S+/#token=${token}$`, "m"));
    expect(program.stdout).toMatch(new RegExp(`^ {2}token +${token}$`, "m"));
    await program.stop();
  });

  test("a token that the operator set is not printed to a terminal either", async () => {
    const program = startProgram("main", {
      DATA_DIR: dataFolder(),
      PORT: "0",
      LOCAL_AUTH_TOKEN: "operator-".repeat(8),
      ...IN_TERMINAL,
    });
    await program.waitForOutput(/^ {2}data +/m);
    expect(program.stdout + program.stderr).not.toContain("operator-");
    await program.stop();
  });
});

test("a token that the operator set is accepted and not printed", async () => {
  const token = "operator-".repeat(8);
  const service = await start(dataFolder(), { LOCAL_AUTH_TOKEN: token });
  const { url } = service;
  const headers = { authorization: `Bearer ${token}` };
  expect((await fetch(`${url}/api/v1/users/me`, { headers })).status).toBe(200);
  await expect.poll(() => service.stdout, { timeout: 10_000 }).toMatch(/^ {2}token +as set in LOCAL_AUTH_TOKEN$/m);
  expect(service.stdout + service.stderr).not.toContain("operator-");
});
