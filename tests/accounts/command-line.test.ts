import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type CommandLine, openCommandLine } from "../support/command-line.ts";
import { cleanUpPrograms, temporaryFolder } from "../support/program.ts";
import { serve } from "../support/serve.ts";
import { createWorld } from "../support/world.ts";
import { type Browser, setupAccounts } from "./support.ts";

const { world, openOwner } = await setupAccounts({ environment: { BASE_URL: "http://board.test" } });
let server: Awaited<ReturnType<typeof serve>>;
let commandLine: CommandLine;

beforeAll(async () => {
  server = await serve((request) => world.app.fetch(request));
  commandLine = await openCommandLine();
});
afterAll(async () => {
  await cleanUpPrograms();
  await server.close();
});

/** Opens a command line whose browser is a script. The script writes the address of the page into a file. */
function openCaller() {
  const file = path.join(temporaryFolder(), "page");
  const browser = path.join(path.dirname(file), "browser");
  writeFileSync(browser, `#!/bin/sh\nprintf %s "$1" > ${file}.new && mv ${file}.new ${file}\n`);
  chmodSync(browser, 0o755);
  const caller = commandLine.caller({ BOARD_URL: server.url, BROWSER: browser });
  return {
    ...caller,
    /** Waits for the page and returns the code in its address. */
    async openedCode(): Promise<string> {
      await vi.waitFor(() => expect(existsSync(file)).toBe(true), { timeout: 30_000 });
      return /^http:\/\/board\.test\/#device\?user_code=(\w+)$/.exec(readFileSync(file, "utf8"))![1]!;
    },
  };
}
const answer = async (person: Browser, code: string, verb: "approve" | "deny") => {
  await person.send("GET", `/api/auth/device?user_code=${code}`);
  expect((await person.send("POST", `/api/auth/device/${verb}`, { userCode: code })).status).toBe(200);
};
const sessionsOf = async (person: Browser) => (await person.send("GET", "/api/auth/list-sessions")).body.length as number;

test("board login opens the browser and signs the person in once they agree, and board logout ends the session", async () => {
  const owner = await openOwner();
  await owner.send("POST", "/api/v1/boards", { name: "Shop", description: "A board", gateway: "pull" });
  const you = openCaller();
  const signingIn = you.run(["login", "--browser"]);
  const code = await you.openedCode();
  await answer(owner, code, "approve");
  const signedIn = await signingIn;
  expect([signedIn.code, signedIn.stdout]).toEqual([0, `Signed in to ${server.url} as a person.\n`]);
  expect(signedIn.stderr).toContain(`Open http://board.test/#device and check that it shows the code ${code}.`);
  const file = path.join(you.settings, "config.json");
  expect(statSync(file).mode & 0o077).toBe(0);
  const { token } = JSON.parse(readFileSync(file, "utf8")).logins[server.url];
  expect(token).toMatch(/^bs_/);
  expect(signedIn.stdout + signedIn.stderr).not.toContain(token);
  expect((await you.run(["boards"])).stdout).toContain("Shop");
  const before = await sessionsOf(owner);
  expect(await you.run(["logout"])).toMatchObject({ code: 0 });
  expect(await sessionsOf(owner)).toBe(before - 1);
  const refused = await commandLine.caller({ BOARD_URL: server.url, BOARD_TOKEN: token }).run(["boards"]);
  expect(refused.code).toBe(2);
});

test("board login ends with an error when the person refuses, and stores nothing", async () => {
  const you = openCaller();
  const signingIn = you.run(["login", "--browser"]);
  await answer(await openOwner(), await you.openedCode(), "deny");
  expect(await signingIn).toMatchObject({ code: 1, stderr: expect.stringContaining("The sign-in was refused in the browser.") });
  expect(existsSync(path.join(you.settings, "config.json"))).toBe(false);
});

test("board login --browser ends with an error where people sign in with a token", async () => {
  const other = await createWorld();
  const elsewhere = await serve((request) => other.app.fetch(request));
  try {
    const refused = await openCaller().run(["login", "--browser", "--url", elsewhere.url]);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("has no accounts") });
  } finally {
    await elsewhere.close();
    await other.close();
  }
});

test("the session of the command line is a session of the person and reads only the person's own data", async () => {
  const owner = await openOwner();
  const request = (path: string, init?: RequestInit) => fetch(`${server.url}/api/auth${path}`, init);
  const post = async (path: string, body: object) =>
    (await request(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) })).json();
  const { device_code, user_code } = (await post("/device/code", { client_id: "board" })) as Record<string, string>;
  await answer(owner, user_code!, "approve");
  const grant_type = "urn:ietf:params:oauth:grant-type:device_code";
  const claim = { grant_type, client_id: "board", device_code };
  const { access_token } = (await post("/device/token", claim)) as Record<string, string>;
  const authorization = `Bearer ${access_token}`;
  expect((await request("/list-sessions", { headers: { authorization } })).status).toBe(200);
  // The sessions table stores tokens without their signatures, so this token with a forged signature is in the table.
  const unsigned = `${authorization.slice(0, authorization.lastIndexOf("."))}.${"A".repeat(43)}%3D`;
  for (const wrong of [unsigned, "Bearer bs_", "Bearer bs_%", "Bearer bs_x; board.session_token=y"]) {
    const response = await request("/list-sessions", { headers: { authorization: wrong } });
    expect([wrong, response.status]).toEqual([wrong, 401]);
    expect((await fetch(`${server.url}/api/v1/users/me`, { headers: { authorization: wrong } })).status).toBe(401);
  }
  // A device code can be used only once.
  expect(await post("/device/token", claim)).toMatchObject({ error: "invalid_grant" });
});
