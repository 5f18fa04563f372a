/** The pages on which a person connects programs. They begin without a sign-in, as after a click in another program. */
import { expect, test, vi } from "vitest";
import { startProgram as startMcpProgram } from "../../accounts/program.ts";
import { dataFolder, runProgram } from "../../support/program.ts";
import { serve } from "../../support/serve.ts";
import { type Console, openConsole, setupBrowser, startService, WAIT } from "./console-fixture.ts";
import { freePort } from "../../support/free-port.ts";

const browser = await setupBrowser();

const [folder, port] = [dataFolder(), await freePort()];
const environment = { AUTH_MODE: "accounts", LOCAL_AUTH_TOKEN: "o".repeat(60) };
const { stdout } = await runProgram("doctor", { DATA_DIR: folder, PORT: String(port), ...environment }, ["--owner-link"]);
const service = await startService(folder, port, environment);
let link: string | null = /#link=\S+/.exec(stdout)![0];
const callbacks: URL[] = [];
const program = await serve((request) => {
  callbacks.push(new URL(request.url));
  return new Response("You can close this page.");
});

const post = async (path: string, body: object) => {
  const answer = await fetch(`${service.url}/api/auth${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return (await answer.json()) as Record<string, string>;
};
const context = await browser.createBrowserContext();
/** Opens a page as the owner. The owner's link signs in only once, so later pages share its session. */
async function openSignedIn(): Promise<Console> {
  const view = await openConsole(context, `${service.url}/${link ?? ""}`, [program.url]);
  link = null;
  await view.sees("main", "board");
  return view;
}

test("a person connects an MCP client on the page that it opens, and the browser returns to the client", async () => {
  const view = await openSignedIn();
  await service.api.post("/api/v1/boards", { body: { name: "Shop", description: "x", gateway: "pull" } });
  const client = startMcpProgram({
    request: (url, init) => fetch(url, init),
    origin: service.url,
    redirect: `${program.url}/callback`,
    metadata: { client_name: "<b>Helper</b>" },
  });
  await expect(client.connect()).rejects.toThrow("Unauthorized");
  await view.page.goto(client.authorization!.href);
  await view.sees("h1", "Connect <b>Helper</b>?");
  await view.sees("dl", new URL(program.url).host);
  await view.sees("form", "all boards that you may see");
  await view.click("Connect");
  await vi.waitFor(() => expect(callbacks).toHaveLength(1), WAIT);
  await client.finish(callbacks[0]!.href);
  const connected = await client.connect();
  expect((await connected.listTools()).tools.length).toBeGreaterThan(3);
  expect(view.errors).toEqual([]);
});

test("a person checks the code of the command line and agrees, and a used code is refused", async () => {
  const view = await openSignedIn();
  const { device_code, user_code } = await post("/device/code", { client_id: "board" });
  await view.go(`#device?user_code=${user_code}`);
  await view.sees("dl", user_code!);
  await view.sees("main", "asks to sign in as you, with all your rights");
  expect(view.page.url()).not.toContain(user_code);
  await view.click("Connect");
  await view.sees("main", "The device is connected.");
  const grant_type = "urn:ietf:params:oauth:grant-type:device_code";
  expect((await post("/device/token", { grant_type, client_id: "board", device_code })).access_token).toMatch(/^bs_/);
  await view.go("#/overview");
  await view.go(`#device?user_code=${user_code}`);
  await view.sees('[role="alert"]', "Invalid user code");
  expect(view.errors).toEqual([]);
});

test("a person refuses a device", async () => {
  const view = await openSignedIn();
  const { device_code, user_code } = await post("/device/code", { client_id: "board" });
  await view.go(`#device?user_code=${user_code}`);
  await view.sees("dl", user_code!);
  await view.click("Refuse");
  await view.sees("main", "The device was refused.");
  const grant_type = "urn:ietf:params:oauth:grant-type:device_code";
  expect((await post("/device/token", { grant_type, client_id: "board", device_code })).error).toBe("access_denied");
});
