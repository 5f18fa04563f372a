/** The part of a page that the tests use. The browser package with the full types is installed separately. */
export interface Page {
  goto(url: string): Promise<unknown>;
  reload(): Promise<unknown>;
  url(): string;
  close(): Promise<void>;
  setDefaultTimeout(ms: number): void;
  bringToFront(): Promise<void>;
  /** Evaluates an expression in the page and returns its value through JSON. */
  evaluate(expression: string): Promise<unknown>;
  evaluateOnNewDocument(script: string): Promise<unknown>;
  /** An element by a selector; `::-p-aria(name)` finds it by its accessible name. Waits until it can be used. */
  locator(selector: string): { click(): Promise<void>; fill(text: string): Promise<void>; wait(): Promise<unknown> };
  waitForFunction(expression: string, options?: { timeout: number }): Promise<unknown>;
  waitForSelector(selector: string, options?: { timeout: number }): Promise<unknown>;
  focus(selector: string): Promise<void>;
  select(selector: string, value: string): Promise<unknown>;
  keyboard: {
    press(key: string): Promise<void>;
    type(text: string): Promise<void>;
    down(key: string): Promise<void>;
    up(key: string): Promise<void>;
  };
  mouse: { move(x: number, y: number, options?: { steps: number }): Promise<void>; down(): Promise<void>; up(): Promise<void> };
  setViewport(size: { width: number; height: number; isMobile?: boolean; hasTouch?: boolean }): Promise<void>;
  emulateMediaFeatures(features: { name: string; value: string }[]): Promise<void>;
  screenshot(options: { path: string; type?: "png" | "webp"; quality?: number }): Promise<unknown>;
  tracing: { start(options: { categories: string[] }): Promise<void>; stop(): Promise<Uint8Array | undefined> };
  createCDPSession(): Promise<DevTools>;
  on(event: "pageerror", listener: (error: Error) => void): void;
  on(event: "request", listener: (request: { url(): string; method(): string }) => void): void;
  on(event: "console", listener: (message: { type(): string; text(): string }) => void): void;
}

/** A connection to the tools of the browser for one page. */
export interface DevTools {
  send(method: string, params?: object): Promise<unknown>;
  on(event: string, listener: (data: unknown) => void): void;
  detach(): Promise<void>;
}

/** Something that runs in the browser, such as a page or a service worker. */
interface Target {
  type(): string;
  worker(): Promise<{ evaluate(expression: string): Promise<unknown> } | null>;
}

export interface BrowserContext {
  newPage(): Promise<Page>;
  /** Grants permissions, such as `notifications`, to the pages of an origin. */
  overridePermissions(origin: string, permissions: string[]): Promise<void>;
  waitForTarget(isWanted: (target: Target) => boolean): Promise<Target>;
  close(): Promise<void>;
}

export interface Browser extends BrowserContext {
  /** A context with its own storage, like another person's browser. */
  createBrowserContext(): Promise<BrowserContext>;
}

/** Long, because a browser starts slowly on a busy machine. */
const START_MS = 90_000;

interface Packages {
  chromium: { args: string[]; executablePath(): Promise<string> };
  puppeteer: {
    launch(options: { args: string[]; executablePath: string; headless: "shell"; timeout: number }): Promise<Browser>;
  };
}

/** Starts a headless browser from the packages that `install.ts` installed. */
export async function openBrowser(): Promise<Browser> {
  const load = async (name: string) => ((await import(name)) as { default: unknown }).default;
  const chromium = (await load("@sparticuz/chromium")) as Packages["chromium"];
  const puppeteer = (await load("puppeteer-core")) as Packages["puppeteer"];
  // With all pages in one process, opening a second context or closing a page ends the browser. Web security stays on, because
  // people's browsers send the origin of a request and hide the answers of other sites from a page.
  const args = chromium.args.filter((arg) => !["--single-process", "--disable-web-security"].includes(arg));
  return puppeteer.launch({ args, executablePath: await chromium.executablePath(), headless: "shell", timeout: START_MS });
}

/** Minimizes the window of a page, which then is hidden, or shows it again. */
export async function setHidden(page: Page, isHidden: boolean): Promise<void> {
  const tools = await page.createCDPSession();
  const { windowId } = (await tools.send("Browser.getWindowForTarget")) as { windowId: number };
  await tools.send("Browser.setWindowBounds", { windowId, bounds: { windowState: isHidden ? "minimized" : "normal" } });
  await tools.detach();
}

interface TraceEvent {
  name: string;
  pid: number;
  tid: number;
  dur?: number;
  tdur?: number;
  args: { name?: string };
}

/** Measures the longest task of the page's main thread during `act`, in clock time and in processor time. */
export async function measureTasks(page: Page, act: () => Promise<unknown>): Promise<{ clock_ms: number; processor_ms: number }> {
  await page.tracing.start({ categories: ["disabled-by-default-devtools.timeline"] });
  await act();
  const { traceEvents } = JSON.parse(new TextDecoder().decode(await page.tracing.stop())) as { traceEvents: TraceEvent[] };
  const toThread = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`;
  const main = new Set(
    traceEvents.filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain").map(toThread),
  );
  let [clock, processor] = [0, 0];
  for (const event of traceEvents) {
    if (event.name !== "RunTask" || !main.has(toThread(event))) continue;
    clock = Math.max(clock, event.dur ?? 0);
    processor = Math.max(processor, event.tdur ?? 0);
  }
  return { clock_ms: clock / 1_000, processor_ms: processor / 1_000 };
}
