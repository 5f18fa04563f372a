// Takes the pictures in docs/pictures from the demo: `npm run pictures`, or some of them: `npm run pictures -- run board`.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, statSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Client, createClient } from "@board/client/client";
import { openBrowser } from "./chromium.ts";
import install from "./install.ts";

const ROOT = path.resolve(import.meta.dirname, "../../..");
const FOLDER = path.join(ROOT, "docs/pictures");
const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 780 } };
const SCHEMES = ["light", "dark"];
/** The agents of the demo need some time until cards are in several columns. */
const DEMO_MS = 120_000;
const WORK_STATUSES = ["inbox", "review", "done"];
const MIN_TASKS = 5;
const START_MS = 180_000;
const DRAWING_MS = 1_500;
const wanted = process.argv.slice(2);

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

/** Waits for a moment with work in several columns. */
async function waitForWork(api: Client): Promise<void> {
  for (const end = Date.now() + DEMO_MS; Date.now() < end; await pause(200)) {
    const { items } = await api.get("/api/v1/boards");
    const board = items.find(({ name }) => name === "Web shop");
    if (!board) continue;
    const { items: tasks } = await api.get("/api/v1/boards/{board_id}/tasks", { params: { path: { board_id: board.id } } });
    if (tasks.length >= MIN_TASKS && WORK_STATUSES.every((status) => tasks.some((task) => task.status === status))) return;
  }
}

/** Waits until the coding agent of the demo has handed in its task, and returns where its run is shown. */
async function waitForRun(api: Client): Promise<string> {
  for (const end = Date.now() + DEMO_MS; Date.now() < end; await pause(200)) {
    const board_id = (await api.get("/api/v1/boards")).items.find(({ name }) => name === "Web shop")?.id;
    if (!board_id) continue;
    const { items } = await api.get("/api/v1/boards/{board_id}/tasks", { params: { path: { board_id } } });
    const { id, status, run } = items.find(({ title }) => title === "Sort the products by price") ?? {};
    if (run && (status === "review" || status === "done")) return `boards/${board_id}/tasks/${id}/runs/${run.id}`;
  }
  throw new Error("The coding agent of the demo has not handed in its task.");
}

try {
  const url = await waitForUrl();
  const api = createClient({ url, token });
  // The page is opened first, so that the board has not moved on when its picture is taken.
  const browser = await openBrowser();
  const page = await browser.newPage();
  await page.goto(`${url}/#token=${token}`);
  await (wanted.join() === "run" ? waitForRun(api) : waitForWork(api));
  const { items } = await api.get("/api/v1/boards");
  const board_id = items.find(({ name }) => name === "Web shop")!.id;
  const { items: tasks } = await api.get("/api/v1/boards/{board_id}/tasks", { params: { path: { board_id } } });
  const shown =
    tasks.find(({ status }) => status === "review") ?? tasks.find(({ status }) => status === "in_progress") ?? tasks[0]!;
  const views = {
    board: `boards/${board_id}`,
    task: `boards/${board_id}/tasks/${shown.id}`,
    "needs-you": "needs-you",
    inbox: "inbox",
    activity: "activity",
    agents: "agents",
    webhooks: `webhooks/${board_id}`,
    overview: "overview",
    list: `boards/${board_id}?view=list`,
    settings: `boards/${board_id}/settings`,
    organization: "organization/members",
    gateways: "gateways",
    skills: "skills/packs",
    "first-use": "start",
    // The address of this picture is found last, because the coding agent may still be working on its task.
    run: "",
  };
  mkdirSync(FOLDER, { recursive: true });
  for (const [view, fragment] of Object.entries(views).filter(([name]) => wanted.length === 0 || wanted.includes(name)))
    for (const [name, size] of Object.entries(SIZES))
      for (const scheme of SCHEMES) {
        await page.setViewport(size);
        await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
        await page.evaluate(`void (location.hash = "#/${fragment || (await waitForRun(api))}")`);
        await page.reload();
        await page.waitForFunction("!/Loading/.test(document.body.textContent)", { timeout: START_MS });
        if (view === "run") await page.waitForSelector(".run-step", { timeout: START_MS });
        await pause(DRAWING_MS);
        const file = path.join(FOLDER, `${view}-${name}-${scheme}.png`);
        await page.screenshot({ path: file });
        process.stdout.write(`${path.relative(ROOT, file)} ${Math.round(statSync(file).size / 1024)} KB\n`);
      }
  await browser.close();
} finally {
  demo.kill();
}
