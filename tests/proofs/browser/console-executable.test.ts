/**
 * An attacker has added files, and a page of the same origin opens them in the browser of a person who is signed in. A proxy in
 * front of the service has that page. It also serves the files as a careless service would, to show that the attacks work there.
 */
import { expect, test, vi } from "vitest";
import { setup } from "../../support/fixtures.ts";
import { serve } from "../../support/serve.ts";
import { startAccounts } from "./accounts-fixture.ts";
import { ATTACK_PAGE, ATTACKS, type AttackFile, FOR_OTHER_BROWSERS, HARMFUL } from "./attack-files.ts";
import { makeTask, openConsole, setupBrowser, WAIT } from "./console-fixture.ts";

const FILES = [...HARMFUL, ...FOR_OTHER_BROWSERS];
const browser = await setupBrowser();
const contents: string[] = [];
const { origin, owner_link } = await startAccounts(async (api, board_id) => {
  const { id: task_id } = await makeTask(api, board_id, "Look at these");
  for (const { name, content_type, content } of FILES) {
    const { id } = await api.post("/api/v1/boards/{board_id}/tasks/{task_id}/artifacts", {
      params: { path: { board_id, task_id } },
      body: { name, ...(content_type ? { content_type } : {}), content: content.toString("base64") },
    });
    contents.push(`/api/v1/boards/${board_id}/artifacts/${id}/content`);
  }
});

/** The paths whose answers were sent. Each path names a way and a file. */
const sent = new Set<string>();
const statuses = new Set<number>();

async function answer(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  const [, kind, , file] = pathname.split("/");
  if (kind === "attack") return new Response(ATTACK_PAGE, { headers: { "content-type": "text/html" } });
  const { content, content_type } = FILES[Number(file)] ?? FILES[0]!;
  if (kind === "careless") return new Response(content as Uint8Array<ArrayBuffer>, { headers: careless(content_type) });
  if (kind !== "file") return new Response(null, { status: 404 });
  const headers = { cookie: request.headers.get("cookie") ?? "", "accept-encoding": "identity" };
  const found = await fetch(origin + contents[Number(file)]!, { headers });
  statuses.add(found.status);
  return new Response(await found.arrayBuffer(), { status: found.status, headers: found.headers });
}
const careless = (content_type: string): Record<string, string> => (content_type ? { "content-type": content_type } : {});

const proxy = await setup(
  serve(async (request) => {
    const answered = await answer(request);
    sent.add(new URL(request.url).pathname);
    return answered;
  }),
);
/** Cookies belong to a host with all its ports, so the browser sends the session cookie to the proxy too. */
const home = `http://localhost:${proxy.port}`;

const context = await browser.createBrowserContext();
const owner = await openConsole(context, owner_link);
await owner.sees("h1", "Harbour");
await owner.page.goto(`${home}/attack`);
const { page } = owner;

const hasRun = async () => (await page.evaluate("attack.seen.length")) as number;

/** Opens a file in every way, and returns how often the attack succeeded. */
async function attack(kind: "file" | "careless", file: number): Promise<number> {
  await page.reload();
  await page.evaluate(ATTACKS);
  const ways = (await page.evaluate("attack.ways")) as string[];
  for (const way of ways) await page.evaluate(`attack.open("${way}", "/${kind}/${way}/${file}")`);
  await vi.waitFor(() => expect(ways.filter((way) => !sent.has(`/${kind}/${way}/${file}`))).toEqual([]), WAIT);
  const before = await hasRun();
  if (kind === "careless") return before;
  // This frame runs after the frames of the attack, whose answers have been sent already.
  await page.evaluate('attack.open("frame", "/careless/last/0")');
  await vi.waitFor(async () => expect(await hasRun()).toBeGreaterThan(0), WAIT);
  return (await hasRun()) - 1;
}

const numbered = (files: readonly AttackFile[]) =>
  files.map(({ name }) => [name, FILES.findIndex((file) => file.name === name)] as const);

test.each(numbered(HARMFUL))(
  "%s is executed if a service trusts its declared type, which shows that the attack works",
  async (_name, file) => {
    const total = async () => (await attack("careless", file)) + (await hasRun());
    await vi.waitFor(async () => expect(await total()).toBeGreaterThan(0), WAIT);
  },
);

test.each(numbered(FILES))(
  "%s from the service is never executed: as a page, frame, script, module, worker, style or program",
  async (_name, file) => {
    expect(await attack("file", file)).toBe(0);
    expect([...statuses]).toEqual([200]);
  },
);

test("a person who opens the address of any file gets a file to save, and no page", async () => {
  const opened: string[] = [];
  for (const content of contents) {
    await page.goto(origin + content).then(
      () => opened.push(content),
      (error: Error) => expect(error.message).toContain("net::ERR_ABORTED"),
    );
    expect(page.url()).toBe(`${home}/attack`);
  }
  expect(opened).toEqual([]);
});
