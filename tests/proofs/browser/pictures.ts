// Takes the pictures in docs/pictures from the demo: `npm run pictures`, or some of them: `npm run pictures -- run board`.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, statSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Client, createClient } from "@board/client/client";
import { openBrowser, type Page } from "./chromium.ts";
import install from "./install.ts";
import { withAccounts } from "./picture-account.ts";
import { addContent } from "./picture-content.ts";

const ROOT = path.resolve(import.meta.dirname, "../../..");
const FOLDER = path.join(ROOT, "docs/pictures");
const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 780 } };
const SCHEMES = ["light", "dark"];
/** A picture that would be larger is taken again with less quality. */
const MAX_BYTES = 60_000;
const QUALITIES = [80, 60, 40];
/** Long, because the agents of the demo need some time until cards are in several columns. */
const DEMO_MS = 600_000;
const WORK_STATUSES = ["inbox", "review", "done"];
const MIN_TASKS = 5;
const START_MS = 180_000;
const DRAWING_MS = 1_000;
const wanted = process.argv.slice(2);
const isWanted = (name: string) => wanted.length === 0 || wanted.includes(name);

await install();
const token = randomBytes(48).toString("base64url");
const demo = spawn(process.execPath, [path.join(ROOT, "packages/local/src/demo.ts")], {
  env: { ...process.env, NO_COLOR: "1", PORT: "0", LOCAL_AUTH_TOKEN: token },
  stdio: ["ignore", "pipe", "inherit"],
});
let output = "";
demo.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));

async function waitForUrl(): Promise<string> {
  for (const end = Date.now() + START_MS; Date.now() < end; await pause(200)) {
    const [, url] = /console +(\S+)\/\s/.exec(output) ?? [];
    if (url) return url;
  }
  throw new Error(`The demo did not start:\n${output}`);
}

const readTasks = async (api: Client, board_id: string) =>
  (await api.get("/api/v1/boards/{board_id}/tasks", { params: { path: { board_id }, query: { limit: 200 } } })).items;

async function waitForBoard(api: Client): Promise<string> {
  for (const end = Date.now() + DEMO_MS; Date.now() < end; await pause(200)) {
    const { items } = await api.get("/api/v1/boards");
    const board = items.find(({ name }) => name === "Web shop");
    if (board) return board.id;
  }
  throw new Error("The demo has made no board.");
}

/** Waits for a moment with work in several columns. */
async function waitForWork(api: Client, board_id: string): Promise<void> {
  for (const end = Date.now() + DEMO_MS; Date.now() < end; await pause(200)) {
    const tasks = await readTasks(api, board_id);
    if (tasks.length >= MIN_TASKS && WORK_STATUSES.every((status) => tasks.some((task) => task.status === status))) return;
  }
}

/** Waits until the coding agent of the demo has handed in its task, and returns where its run is shown. */
async function waitForRun(api: Client, board_id: string): Promise<string> {
  for (const end = Date.now() + DEMO_MS; Date.now() < end; await pause(200)) {
    const tasks = await readTasks(api, board_id);
    const { id, status, run } = tasks.find(({ title }) => title === "Sort the products by price") ?? {};
    if (run && (status === "review" || status === "done")) return `boards/${board_id}/tasks/${id}/runs/${run.id}`;
  }
  throw new Error("The coding agent of the demo has not handed in its task.");
}

/** Takes the four pictures of a view. `act` opens what has no address, such as a form. */
async function take(page: Page, view: string, fragment: string, act: () => Promise<unknown> = async () => {}): Promise<void> {
  for (const [name, size] of Object.entries(SIZES)) {
    await page.setViewport(size);
    await page.evaluate(`void (location.hash = "#/${fragment}")`);
    await page.reload();
    await page.waitForSelector("main, .board, .story", { timeout: START_MS });
    await act();
    for (const scheme of SCHEMES) {
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      await pause(DRAWING_MS);
      await page.waitForFunction("document.querySelector('.loading') === null", { timeout: START_MS });
      const file = path.join(FOLDER, `${view}-${name}-${scheme}.webp`);
      for (const quality of QUALITIES) {
        await page.screenshot({ path: file, type: "webp", quality });
        if (statSync(file).size <= MAX_BYTES) break;
      }
      process.stdout.write(`${path.relative(ROOT, file)} ${Math.round(statSync(file).size / 1024)} KB\n`);
    }
  }
}

type View = readonly [fragment: string | (() => Promise<string>), act?: (page: Page) => Promise<unknown>];

const openJump = async ({ keyboard }: Page) => {
  await keyboard.down("Control");
  await keyboard.press("k");
  await keyboard.up("Control");
};
const waitFor = (selector: string) => (page: Page) => page.waitForSelector(selector, { timeout: START_MS });
const openHash = (hash: string) => (page: Page) => page.evaluate(`void (location.hash = ${JSON.stringify(hash)})`);
const press = (name: string) => (page: Page) => page.locator(`::-p-aria([name="${name}"][role="button"])`).click();

try {
  const url = await waitForUrl();
  const api = createClient({ url, token });
  // The page is opened first, so that the board has not moved on when its picture is taken.
  const browser = await openBrowser();
  const page = await browser.newPage();
  await page.goto(`${url}/#token=${token}`);
  const board_id = await waitForBoard(api);
  const board = `boards/${board_id}`;
  const { diff_id, report_id, task_id } = await addContent(api, board_id);
  const [agent] = (await api.get("/api/v1/agents", { params: { query: { board_id } } })).items;
  const gateway_id = agent!.gateway_id;
  await waitForWork(api, board_id);
  const views: Record<string, View> = {
    board: [board],
    task: [`${board}/tasks/${task_id}`, waitFor(".comment")],
    run: [() => waitForRun(api, board_id), waitFor(".run-step")],
    list: [`${board}?view=list`],
    "new-task": [board, press("New task")],
    views: [`${board}?view=list&priority=high`, press("Views")],
    file: [`${board}/tasks/${task_id}/files/${diff_id}`, waitFor(".patch-comment")],
    report: [`${board}/tasks/${task_id}/files/${report_id}`, waitFor(".story .markdown")],
    settings: [`${board}/settings`],
    onboarding: [`${board}/onboarding`],
    "needs-you": ["needs-you"],
    inbox: ["inbox"],
    overview: ["overview"],
    activity: ["activity"],
    agents: ["agents"],
    connect: ["agents", press("Connect an agent")],
    agent: [`agents/${agent!.id}`],
    "agent-files": [`agents/${agent!.id}/files`],
    webhooks: [`webhooks/${board_id}`],
    usage: ["usage"],
    budgets: ["organization/budgets"],
    invites: ["organization/invites"],
    invite: ["organization/invites", press("Invite a person")],
    tags: ["organization/tags"],
    fields: ["organization/fields"],
    groups: ["organization/groups"],
    "stored-files": ["organization/files"],
    slack: ["organization/slack"],
    subscriptions: ["organization/subscriptions"],
    keys: ["organization/keys"],
    audit: ["organization/audit"],
    organization: ["organization/general"],
    gateways: ["gateways"],
    gateway: [`gateways/${gateway_id}`],
    marketplace: ["skills/marketplace"],
    packs: ["skills/packs"],
    souls: ["skills/souls"],
    "souls-directory": ["souls"],
    profile: ["personal/profile"],
    notifications: ["personal/notifications"],
    "personal-keys": ["personal/keys"],
    help: [board, (shown) => shown.keyboard.press("?")],
    jump: [board, openJump],
    "first-use": ["start"],
  };
  mkdirSync(FOLDER, { recursive: true });
  for (const [name, [fragment, act]] of Object.entries(views).filter(([view]) => isWanted(view)))
    await take(page, name, typeof fragment === "string" ? fragment : await fragment(), act && (() => act(page)));
  const accountViews = ["account", "members", "program", "device", "sign-in", "mail-link", "joining"];
  if (accountViews.some(isWanted))
    await withAccounts(browser, async ({ owner, stranger, program }) => {
      const shown: Record<string, readonly [page: Page, ...view: View]> = {
        account: [owner, "personal/account"],
        members: [owner, "organization/members"],
        program: [owner, "personal/account", openHash(program)],
        device: [owner, "personal/account", openHash("#device")],
        "sign-in": [stranger, ""],
        "mail-link": [stranger, "", openHash("#mail=example")],
        joining: [stranger, "", openHash("#invite=example")],
      };
      for (const name of accountViews.filter(isWanted)) {
        const [shownTo, fragment, act] = shown[name]!;
        await take(shownTo, name, fragment as string, act && (() => act(shownTo)));
      }
    });
  await browser.close();
} finally {
  demo.kill();
}
