// Measures the console in a real browser: `npm run bench:console`, or only a long diff: `npm run bench:console -- diff`.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Client, createClient } from "@board/client/client";
import { type Browser, measureTasks, openBrowser, type Page, setHidden } from "../proofs/browser/chromium.ts";
import install from "../proofs/browser/install.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const SIZES = [200, 1_000, 2_000];
const BUSY_SIZE = 200;
/** The number of changes in an hour on a board on which something happens every second. */
const CHANGES = 3_600;
const WARM_UP = 400;
const PARALLEL = 8;
/** More changes at once than the page reads one by one, so that it reads the whole board again. */
const BURST = 40;
const START_MS = 180_000;
const OBSERVE_MS = 20_000;
const SETTLE_MS = 2_000;
const STATUSES = ["inbox", "in_progress", "review", "blocked"] as const;
const SCROLL = `(async () => {
  const list = document.querySelector(".cards");
  for (let step = 0; step < 60; step++) {
    list.scrollTop += 400;
    await new Promise(requestAnimationFrame);
  }
})()`;

const DIFF_LINES = 10_000;
const SCROLL_DIFF = `(async () => {
  const view = document.querySelector(".file-view");
  const list = view.scrollHeight > view.clientHeight ? view : document.querySelector(".story");
  for (let at = -1; at !== list.scrollTop; ) {
    at = list.scrollTop;
    list.scrollTop += 600;
    await new Promise(requestAnimationFrame);
  }
})()`;

/** Returns the longest task of the page's main thread during `act` and shortly after it, as text. */
async function longestTask(page: Page, act: () => Promise<unknown>): Promise<string> {
  const { clock_ms, processor_ms } = await measureTasks(page, async () => {
    await act();
    await pause(SETTLE_MS);
  });
  return `${Math.round(clock_ms)} ms (${Math.round(processor_ms)} ms of processor)`;
}

/** Runs many requests, a few at a time. */
async function inParallel(count: number, act: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const work = async () => {
    while (next < count) await act(next++);
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
}

async function makeBoard(api: Client, size: number) {
  const { id: board_id } = await api.post("/api/v1/boards", {
    body: { name: `Board of ${size}`, description: "Many tasks", gateway: "pull", require_approval_for_done: false },
  });
  const ids: string[] = [];
  await inParallel(size, async (index) => {
    const body = { title: `Task ${index} of many`, status: STATUSES[index % STATUSES.length]! };
    const { id } = await api.post("/api/v1/boards/{board_id}/tasks", { params: { path: { board_id } }, body });
    ids.push(id);
  });
  return { board_id, ids };
}

async function openBoard(browser: Browser, link: string, board_id: string): Promise<Page> {
  const page = await browser.newPage();
  await page.setViewport({ width: 1280, height: 800 });
  await page.goto(link);
  await page.evaluate(`void (location.hash = "#/boards/${board_id}")`);
  await page.locator(".card").wait();
  return page;
}

async function measureSize(api: Client, link: string, size: number): Promise<void> {
  const { board_id, ids } = await makeBoard(api, size);
  const browser = await openBrowser();
  const page = await openBoard(browser, link, board_id);
  await page.reload();
  await page.locator(".card").wait();
  const first = Math.round((await page.evaluate("performance.now()")) as number);
  const atStart = await longestTask(page, async () => {
    await page.reload();
    await page.locator(".card").wait();
  });
  const moving = await longestTask(page, async () => {
    await page.mouse.move(340, 150);
    await page.mouse.down();
    await page.mouse.move(1_000, 300, { steps: 30 });
    await page.mouse.up();
  });
  const scrolling = await longestTask(page, () => page.evaluate(SCROLL));
  const following = await longestTask(page, () => inParallel(BURST, changer(api, board_id, ids)));
  console.log(`${size} tasks: cards after ${first} ms; longest task at start ${atStart}, moving a card ${moving},`);
  console.log(`  scrolling ${scrolling}, following ${BURST} changes at once ${following}`);
  await browser.close();
}

/** Returns a diff in which every tenth line is changed, in several files of which the first is by far the longest. */
function makeDiff(): string {
  const fileOf = (name: string, lines: number) => {
    const body = Array.from({ length: lines / 2 }, (_, n) =>
      n % 5 === 0 ? `-const value${n} = ${n};\n+const value${n} = ${n + 1};\n` : ` call(value${n}, "text ${n}");\n call(${n});\n`,
    );
    const [kept, changed] = [body.filter((text) => text.startsWith(" ")).length * 2, Math.ceil(lines / 10)];
    return `--- a/${name}\n+++ b/${name}\n@@ -1,${kept + changed} +1,${kept + changed} @@\n${body.join("")}`;
  };
  return fileOf("src/long.ts", DIFF_LINES - 1_000) + fileOf("src/short.ts", 500) + fileOf("src/other.ts", 500);
}

async function measureDiff(api: Client, link: string): Promise<void> {
  const { board_id, ids } = await makeBoard(api, 1);
  const { id } = await api.post("/api/v1/boards/{board_id}/tasks/{task_id}/artifacts", {
    params: { path: { board_id, task_id: ids[0]! } },
    body: { name: "long.diff", content_type: "text/x-diff", content: Buffer.from(makeDiff()).toString("base64") },
  });
  const browser = await openBrowser();
  const page = await openBoard(browser, link, board_id);
  const opening = await longestTask(page, async () => {
    await page.evaluate(`void (location.hash = "#/boards/${board_id}/tasks/${ids[0]}/files/${id}")`);
    await page.locator(".patch").wait();
  });
  const unfolding = await longestTask(page, async () => {
    await page.evaluate(`document.querySelector('.patch-name[aria-expanded="false"]').click()`);
    await page.locator(".patch-line").wait();
  });
  const scrolling = await longestTask(page, () => page.evaluate(SCROLL_DIFF));
  console.log(
    `a diff of ${DIFF_LINES} lines: longest task when it opens ${opening}, when its longest file is unfolded ${unfolding},`,
  );
  console.log(`  scrolling through it ${scrolling}`);
  await browser.close();
}

/** Returns a function that changes the next task on each call, as agents do that move their tasks. */
function changer(api: Client, board_id: string, ids: readonly string[]) {
  let done = 0;
  return () => {
    const at = done++;
    const task_id = ids[at % ids.length]!;
    const status = STATUSES[(at + Math.floor(at / ids.length)) % STATUSES.length]!;
    const body = { status, title: `Task ${at % ids.length} of many, change ${at}` };
    return api.patch("/api/v1/boards/{board_id}/tasks/{task_id}", { params: { path: { board_id, task_id } }, body });
  };
}

async function requestsAMinute(page: Page, act: () => Promise<unknown>): Promise<number> {
  let requests = 0;
  page.on("request", () => (requests += 1));
  const end = Date.now() + OBSERVE_MS;
  while (Date.now() < end) await Promise.all([act(), pause(1_000)]);
  return Math.round((requests * 60_000) / OBSERVE_MS);
}

async function memoryOf(page: Page): Promise<{ heap: number; nodes: number; listeners: number }> {
  const tools = await page.createCDPSession();
  for (let round = 0; round < 3; round++) await tools.send("HeapProfiler.collectGarbage");
  await tools.send("Performance.enable");
  const { metrics } = (await tools.send("Performance.getMetrics")) as { metrics: { name: string; value: number }[] };
  await tools.detach();
  const valueOf = (name: string) => metrics.find((metric) => metric.name === name)?.value ?? 0;
  return { heap: valueOf("JSHeapUsedSize"), nodes: valueOf("Nodes"), listeners: valueOf("JSEventListeners") };
}

async function measureBusy(api: Client, link: string): Promise<void> {
  const { board_id, ids } = await makeBoard(api, BUSY_SIZE);
  const browser = await openBrowser();
  const page = await openBoard(browser, link, board_id);
  const change = changer(api, board_id, ids);
  for (const isHidden of [false, true]) {
    await setHidden(page, isHidden);
    await pause(SETTLE_MS);
    const name = isHidden ? "hidden" : "open";
    console.log(`${name} page, quiet board: ${await requestsAMinute(page, async () => {})} requests a minute`);
    console.log(`${name} page, a change a second: ${await requestsAMinute(page, change)} requests a minute`);
  }
  await setHidden(page, false);
  const settled = async (count: number) => {
    const started = Date.now();
    await inParallel(count, change);
    await page.evaluate("void document.querySelector('.cards').scrollTo(0, 0)");
    await pause(SETTLE_MS * 2);
    return { ...(await memoryOf(page)), seconds: Math.round((Date.now() - started) / 1000) };
  };
  const before = await settled(WARM_UP);
  let requests = 0;
  page.on("request", () => (requests += 1));
  const after = await settled(CHANGES);
  const toText = ({ heap, nodes, listeners }: typeof before) =>
    `${(heap / 1024 ** 2).toFixed(2)} MB, ${nodes} nodes, ${listeners} listeners`;
  console.log(`memory before: ${toText(before)}`);
  console.log(`memory after ${CHANGES} changes in ${after.seconds} s, ${requests} requests: ${toText(after)}`);
  await browser.close();
}

await install();
const folder = mkdtempSync(path.join(tmpdir(), "console-bench-"));
const token = randomBytes(48).toString("base64url");
const service = spawn(process.execPath, [path.join(ROOT, "packages/local/src/main.ts")], {
  env: {
    ...process.env,
    DATA_DIR: folder,
    PORT: "0",
    LOG_LEVEL: "error",
    LIMITS: "caller_waiting_requests=0",
    LOCAL_AUTH_TOKEN: token,
  },
  stdio: ["ignore", "pipe", "inherit"],
});
let output = "";
service.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));

async function waitForUrl(): Promise<string> {
  for (const end = Date.now() + START_MS; Date.now() < end; await pause(200)) {
    const [, url] = /console +(\S+)\/\s/.exec(output) ?? [];
    if (url) return url;
  }
  throw new Error(`The service did not start:\n${output}`);
}

try {
  const url = await waitForUrl();
  const link = `${url}/#token=${token}`;
  const assets = path.join(ROOT, "packages/console/dist/assets");
  for (const name of readdirSync(assets).filter((file) => file.endsWith(".js.gz")))
    console.log(`${name.padEnd(32)} ${(readFileSync(path.join(assets, name)).length / 1024).toFixed(1)} KB`);
  const api = createClient({ url, token });
  await measureDiff(api, link);
  if (!process.argv.includes("diff")) {
    await measureBusy(api, link);
    for (const size of SIZES) await measureSize(api, link, size);
  }
} finally {
  service.kill();
  service.once("exit", () => rmSync(folder, { recursive: true, force: true }));
}
