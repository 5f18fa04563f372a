import { readFileSync } from "node:fs";
import path from "node:path";
import { type FakeGateway, startFakeGateway } from "../../support/fake-gateway/server.ts";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { call } from "../../support/http.ts";
import { cleanUpPrograms, dataFolder, readToken, startProgram } from "../../support/program.ts";
import { serve } from "../../support/serve.ts";
import { freePort } from "../../support/free-port.ts";
import { type Browser, openBrowser, type Page } from "./chromium.ts";

const TOKEN = "gateway-token-0815";
const html = readFileSync(path.join(import.meta.dirname, "feed.html"));

let gateway: FakeGateway;
let browser: Browser;
/** The server of the page, whose origin differs from the service's origin. */
let site: Awaited<ReturnType<typeof serve>>;

beforeAll(async () => {
  gateway = await startFakeGateway({ token: TOKEN });
  site = await serve(() => new Response(html, { headers: { "content-type": "text/html" } }));
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await site?.close();
  await cleanUpPrograms();
  await gateway?.close();
});

async function start(folder: string, port: number) {
  const program = startProgram("main", { DATA_DIR: folder, PORT: String(port), LOG_LEVEL: "error", CORS_ORIGINS: site.url });
  const [, url] = await program.waitForOutput(/ready at (http:\S+)/);
  const token = await readToken(program);
  const post = async (path: string, body: object) => {
    const answer = await call((target, init) => fetch(url! + target, init), "POST", path, { token, body });
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
    return answer.body as { id: string };
  };
  return { program, url: url!, token, post };
}

const shown = (page: Page) => page.evaluate("[...document.querySelectorAll('#comments li')].map((item) => item.textContent)");
const state = (page: Page) => page.evaluate("document.querySelector('#state').textContent");
const sees = (page: Page, expected: string[]) =>
  vi.waitFor(async () => expect(await shown(page)).toEqual(expected), { timeout: 20_000, interval: 50 });
const becomes = (page: Page, expected: string) =>
  vi.waitFor(async () => expect(await state(page)).toBe(expected), { timeout: 20_000, interval: 20 });

test("a page in a browser shows each comment once as it arrives, even across a restart of the service", async () => {
  const folder = dataFolder();
  const port = await freePort();
  let service = await start(folder, port);
  const host = { name: "Host", url: gateway.url, token: TOKEN, workspace_root: "/srv/agents" };
  const { id: gateway_id } = await service.post("/api/v1/gateways", host);
  const { id: board_id } = await service.post("/api/v1/boards", { name: "Shop", description: "A shop", gateway_id });
  const { id: task_id } = await service.post(`/api/v1/boards/${board_id}/tasks`, { title: "Ship" });
  const say = (message: string) => service.post(`/api/v1/boards/${board_id}/tasks/${task_id}/comments`, { message });

  const page = await browser.newPage();
  const errors: Error[] = [];
  page.on("pageerror", (error) => errors.push(error));
  const stream = `${service.url}/api/v1/activity/task-comments/stream`;
  await page.goto(`${site.url}/#${new URLSearchParams({ stream, token: service.token }).toString()}`);
  await becomes(page, "open");
  const expected: string[] = [];
  for (const message of ["first", "two\nlines", "<b>bold</b> & \u201cquoted\u201d", "\u{1f680} \u00fcber \u2028 line"]) {
    await say(message);
    expected.push(`Shop / Ship: ${message}`);
    if (expected.length === 1) await sees(page, expected);
  }
  await sees(page, expected);

  await service.program.stop();
  await becomes(page, "waiting");
  service = await start(folder, port);
  await say("after the restart");
  expected.push("Shop / Ship: after the restart");
  await sees(page, expected);
  await becomes(page, "open");
  await say("and on");
  expected.push("Shop / Ship: and on");
  await sees(page, expected);
  expect(errors).toEqual([]);
});
