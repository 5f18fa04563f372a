import { type Client, createClient } from "@board/client/client";
import { afterAll, expect, vi } from "vitest";
import { freePort } from "../../support/free-port.ts";
import { setup } from "../../support/fixtures.ts";
import { cleanUpPrograms, dataFolder, type Program, readToken, startProgram } from "../../support/program.ts";
import { type Browser, type BrowserContext, openBrowser, type Page } from "./chromium.ts";

/** Long, because the machine may be busy; the tests check that changes appear without a reload, not how fast. */
export const WAIT = { timeout: 60_000, interval: 50 };

export interface Service {
  program: Program;
  url: string;
  token: string;
  /** The address of the console, which includes the token if the service has generated it. */
  link: string;
  api: Client;
}

/** Returns the link that the service prints to a terminal. */
export const signInLink = (address: string, token: string): string => `${new URL("/", address)}#token=${token}`;

export async function startService(folder: string, port: number, environment: Record<string, string> = {}): Promise<Service> {
  const program = startProgram("main", { DATA_DIR: folder, PORT: String(port), LOG_LEVEL: "error", ...environment });
  const [, url] = await program.waitForOutput(/ready at (http:\S+)/);
  const [, link] = await program.waitForOutput(/console +(\S+)/);
  await program.waitForOutput(/data +\S+/);
  const isGenerated = environment["LOCAL_AUTH_TOKEN"] === undefined && environment["AUTH_MODE"] !== "oidc";
  const token = isGenerated ? await readToken(program) : (environment["LOCAL_AUTH_TOKEN"] ?? "");
  return {
    program,
    url: url!,
    token,
    link: isGenerated ? signInLink(link!, token) : link!,
    api: createClient({ url: url!, token }),
  };
}

/** Opens a browser for all tests of a file. After the tests, the services that they started are ended too. */
export function setupBrowser(): Promise<Browser> {
  afterAll(cleanUpPrograms);
  return setup(openBrowser());
}

/** Opens a browser and starts a service for all tests of a file. */
export async function setupConsole(): Promise<{ browser: Browser; service: Service }> {
  const browser = await setupBrowser();
  return { browser, service: await startService(dataFolder(), await freePort()) };
}

export interface Console {
  page: Page;
  /** Errors of the page, and what the policy of the page refused. */
  errors: string[];
  /** Requested addresses outside the service. */
  outside: string[];
  text(selector: string): Promise<string>;
  /** Waits until the text of an element contains a part. */
  sees(selector: string, part: string): Promise<void>;
  /** Waits until the titles of the cards in a column are these, in any order. */
  hasCards(status: string, titles: string[]): Promise<void>;
  count(selector: string): Promise<number>;
  click(name: string): Promise<void>;
  /** Types into a field of a form. */
  fill(form: string, name: string, text: string): Promise<void>;
  /** Returns what a field of a form contains. */
  value(form: string, name: string): Promise<string>;
  /** Waits until no window is open above the page. */
  hasNoDialog(): Promise<void>;
  go(fragment: string): Promise<void>;
  drag(title: string, status: string): Promise<void>;
}

/** Returns the selector of a form's field. It selects by attribute, because the name of a field may contain dots. */
export const field = (form: string, name: string): string => `[id="field-${form}-${name}"]`;

/** Opens a page of a service, and watches for everything that must not happen in it. */
export async function openConsole(context: BrowserContext, address: string, origins: string[] = []): Promise<Console> {
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT.timeout);
  const errors: string[] = [];
  const outside: string[] = [];
  const allowed = [new URL(address).origin, ...origins];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => /Content Security Policy|TrustedType/i.test(message.text()) && errors.push(message.text()));
  page.on("request", (request) => {
    const { protocol, origin } = new URL(request.url());
    if (/^https?:$/.test(protocol) && !allowed.includes(origin)) outside.push(request.url());
  });
  await page.setViewport({ width: 1280, height: 800 });
  await page.goto(address);

  const evaluate = <T>(expression: string) => page.evaluate(expression) as Promise<T>;
  const quote = (value: string) => JSON.stringify(value);
  const text = (selector: string) =>
    evaluate<string>(`[...document.querySelectorAll(${quote(selector)})].map((item) => item.textContent).join("\\n")`);
  const cards = (status: string) =>
    evaluate<string[]>(
      `[...document.querySelectorAll('[data-status="${status}"] .card-title')].map((item) => item.textContent).sort()`,
    );
  const centerOf = (expression: string) =>
    evaluate<{ x: number; y: number }>(
      `(() => { const box = ${expression}.getBoundingClientRect(); return { x: box.x + box.width / 2, y: box.y + Math.min(40, box.height / 2) }; })()`,
    );
  const count = (selector: string) => evaluate<number>(`document.querySelectorAll(${quote(selector)}).length`);
  return {
    page,
    errors,
    outside,
    text,
    sees: (selector, part) => vi.waitFor(async () => expect(await text(selector)).toContain(part), WAIT),
    hasCards: (status, titles) => vi.waitFor(async () => expect(await cards(status)).toEqual(titles.toSorted()), WAIT),
    count,
    click: (name) => page.locator(`::-p-aria([name="${name}"][role="button"])`).click(),
    async fill(form, name, typed) {
      if (typed) return page.locator(field(form, name)).fill(typed);
      // Filling in nothing would not tell the page that the field is empty now.
      await page.locator(field(form, name)).click();
      await page.evaluate(`document.querySelector(${quote(field(form, name))}).select()`);
      await page.keyboard.press("Backspace");
    },
    async value(form, name) {
      await page.locator(field(form, name)).wait();
      return evaluate<string>(`document.querySelector(${quote(field(form, name))}).value`);
    },
    hasNoDialog: () => vi.waitFor(async () => expect(await count("dialog")).toBe(0), WAIT),
    async go(fragment) {
      await page.evaluate(`void (location.hash = ${quote(fragment)})`);
    },
    async drag(title, status) {
      const card = `[...document.querySelectorAll(".card")].find((item) => item.textContent.includes(${quote(title)}))`;
      const from = await centerOf(card);
      const to = await centerOf(`document.querySelector('[data-status="${status}"] .cards')`);
      await page.mouse.move(from.x, from.y);
      await page.mouse.down();
      await page.mouse.move(to.x, to.y, { steps: 8 });
      // The target is marked in the next frame. A read-only board has no target.
      const isOver = `document.querySelector('[data-status="${status}"].target, .board[data-readonly]') !== null`;
      await vi.waitFor(async () => expect(await evaluate(isOver), `the card is over ${status}`).toBe(true), WAIT);
      await page.mouse.up();
    },
  };
}

/** Gives a page a virtual authenticator, which confirms every passkey without a person. */
export async function addAuthenticator(page: Page): Promise<void> {
  const devices = await page.createCDPSession();
  await devices.send("WebAuthn.enable");
  const options = { protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true };
  await devices.send("WebAuthn.addVirtualAuthenticator", {
    options: { ...options, isUserVerified: true, automaticPresenceSimulation: true },
  });
}

/** Makes a board for pull agents. `rules` replace its lenient rules. */
export const makeBoard = (api: Client, name: string, rules: Record<string, boolean> = {}) =>
  api.post("/api/v1/boards", {
    body: {
      name,
      description: `The work of ${name}`,
      gateway: "pull",
      max_agents: 5,
      require_approval_for_done: false,
      ...rules,
    },
  });

export const makeTask = (api: Client, board_id: string, title: string, more: Record<string, unknown> = {}) =>
  api.post("/api/v1/boards/{board_id}/tasks", { params: { path: { board_id } }, body: { title, ...more } });
