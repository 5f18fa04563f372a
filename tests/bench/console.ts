// Measures the console in a real browser: `npm run bench:console`.
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "@board/client/client";
import { openBrowser, type Page } from "../proofs/browser/chromium.ts";
import install from "../proofs/browser/install.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const SIZES = [200, 1_000, 2_000];
const START_MS = 180_000;
const OBSERVE_MS = 30_000;
const STATUSES = ["inbox", "in_progress", "review", "blocked"];
const OBSERVER = `window.longest = 0; new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.longest = Math.max(window.longest, entry.duration);
}).observe({ type: "longtask", buffered: true });`;

await install();
const folder = mkdtempSync(path.join(tmpdir(), "console-bench-"));
const service = spawn(process.execPath, [path.join(ROOT, "packages/local/src/main.ts")], {
  env: { ...process.env, DATA_DIR: folder, PORT: "0", LOG_LEVEL: "error", CALLER_WAITING_REQUESTS: "0" },
  stdio: ["ignore", "pipe", "inherit"],
});
let output = "";
service.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));

async function waitForLink(): Promise<string> {
  for (const end = Date.now() + START_MS; Date.now() < end; await pause(200)) {
    const [, link] = /console +(\S+)\s/.exec(output) ?? [];
    if (link) return link;
  }
  throw new Error(`The service did not start:\n${output}`);
}

const longest = async (page: Page) => Math.round((await page.evaluate("window.longest")) as number);
const reset = (page: Page) => page.evaluate("void (window.longest = 0)");

try {
  const assets = path.join(ROOT, "packages/console/dist/assets");
  for (const name of readdirSync(assets).filter((file) => file.endsWith(".js.gz")))
    console.log(`${name.padEnd(32)} ${(readFileSync(path.join(assets, name)).length / 1024).toFixed(1)} KB`);
  const link = await waitForLink();
  const [url, token] = link.split("/#token=") as [string, string];
  const api = createClient({ url, token });
  for (const size of SIZES) {
    const browser = await openBrowser();
    const { id: board_id } = await api.post("/api/v1/boards", {
      body: { name: `Board of ${size}`, description: "Many tasks", gateway: "pull", require_approval_for_done: false },
    });
    const params = { path: { board_id } };
    for (let at = 0; at < size; at += 8)
      await Promise.all(
        Array.from({ length: Math.min(8, size - at) }, (_, index) => {
          const body = { title: `Task ${at + index} of many`, status: STATUSES[(at + index) % 4] as "inbox" };
          return api.post("/api/v1/boards/{board_id}/tasks", { params, body });
        }),
      );
    const page = await browser.newPage();
    await page.setViewport({ width: 1280, height: 800 });
    await page.evaluateOnNewDocument(OBSERVER);
    let requests = 0;
    page.on("request", () => (requests += 1));
    await page.goto(link);
    await page.evaluate(`void (location.hash = "#/boards/${board_id}")`);
    await page.locator(".card").wait();
    await page.reload();
    await page.locator(".card").wait();
    const first = Math.round((await page.evaluate("performance.now()")) as number);
    const atStart = await longest(page);
    await pause(2_000);
    await reset(page);
    await page.mouse.move(340, 150);
    await page.mouse.down();
    await page.mouse.move(1_000, 300, { steps: 30 });
    await page.mouse.up();
    await pause(2_000);
    const moving = await longest(page);
    await reset(page);
    await page.evaluate(`(async () => {
      const list = document.querySelector(".cards");
      for (let step = 0; step < 60; step++) {
        list.scrollTop += 400;
        await new Promise(requestAnimationFrame);
      }
    })()`);
    await pause(1_000);
    const scrolling = await longest(page);
    requests = 0;
    await pause(OBSERVE_MS);
    console.log(
      `${size} tasks: cards after ${first} ms; longest task at start ${atStart} ms, moving ${moving} ms, scrolling ${scrolling} ms; ${requests * 2} requests a minute`,
    );
    await browser.close();
  }
} finally {
  service.kill();
  service.once("exit", () => rmSync(folder, { recursive: true, force: true }));
}
