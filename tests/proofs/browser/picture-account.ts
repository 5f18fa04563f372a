import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { startProgram as startMcpProgram } from "../../accounts/program.ts";
import { freePort } from "../../support/free-port.ts";
import type { Browser, Page } from "./chromium.ts";

const SOURCES = path.resolve(import.meta.dirname, "../../../packages/local/src");
const START_MS = 180_000;
const PASSWORD = "a green fence by the sea";

async function start(environment: NodeJS.ProcessEnv) {
  const program = spawn(process.execPath, [path.join(SOURCES, "main.ts")], {
    env: environment,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  program.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  for (const end = Date.now() + START_MS; !/console +\S+/.test(output); await pause(200))
    if (Date.now() > end) throw new Error(`The service did not start:\n${output}`);
  const stop = async () => {
    const exited = new Promise((resolve) => program.once("exit", resolve));
    program.kill();
    await exited;
  };
  return { stop };
}

const fill = async (page: Page, texts: Record<string, string>) => {
  for (const [name, text] of Object.entries(texts)) await page.locator(`[id="field-${name}"]`).fill(text);
};
const press = (page: Page, name: string) => page.locator(`::-p-aria([name="${name}"][role="button"])`).click();
const waitForText = (page: Page, text: string) =>
  page.waitForFunction(`document.body.textContent.includes(${JSON.stringify(text)})`, { timeout: START_MS });

interface Shown {
  owner: Page;
  /** A page on which nobody is signed in. */
  stranger: Page;
  /** The fragment of the page on which the owner is asked to connect a program. */
  program: string;
}

/** Registers a program, and returns the fragment of the page on which its person agrees. */
async function findConsent(owner: Page, origin: string): Promise<string> {
  const program = startMcpProgram({
    request: (url, init) => fetch(url, init),
    origin,
    metadata: { client_name: "Assistant of the shop" },
  });
  // The program is refused until its person has agreed.
  await program.connect().catch(() => {});
  await owner.goto(program.authorization!.href);
  await waitForText(owner, "Connect Assistant of the shop?");
  return (await owner.evaluate("location.hash")) as string;
}

/** Starts a service with accounts and two people, and takes pictures of the page of its owner and of a stranger. */
export async function withAccounts(browser: Browser, take: (shown: Shown) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), "pictures-"));
  const port = await freePort();
  // Passkeys work only with a domain name, not with an IP address.
  const origin = `http://localhost:${port}`;
  const environment = {
    ...process.env,
    NO_COLOR: "1",
    LOG_LEVEL: "error",
    DATA_DIR: folder,
    PORT: String(port),
    BASE_URL: origin,
    AUTH_MODE: "accounts",
  };
  const first = await start(environment);
  await first.stop();
  const { stdout } = await promisify(execFile)(process.execPath, [path.join(SOURCES, "doctor.ts"), "--owner-link"], {
    env: environment,
  });
  const service = await start(environment);
  try {
    const page = await (await browser.createBrowserContext()).newPage();
    await page.setViewport({ width: 1280, height: 800 });
    await page.goto(`${origin}/#link=${/#link=(\S+)/.exec(stdout)![1]}`);
    await waitForText(page, "Begin with a board");
    await page.evaluate('void (location.hash = "#/personal/account")');
    await fill(page, { "account-name": "Olga", "account-email": "olga@shop.example" });
    await page.locator('.card-panel:has([id*="account-email"]) button.primary').click();
    await waitForText(page, "Your account was changed.");
    await page.evaluate('void (location.hash = "#/organization/invites")');
    await press(page, "Invite a person");
    await fill(page, { "invite-invited_email": "ann@shop.example" });
    await press(page, "Invite");
    await waitForText(page, "/#invite=");
    const invite = (await page.evaluate(
      `/#invite=\\S+?(?=\\n|$)/.exec(document.querySelector(".snippet pre").textContent)[0]`,
    )) as string;
    const ann = await (await browser.createBrowserContext()).newPage();
    await ann.goto(`${origin}/${invite}`);
    await ann.locator('input[autocomplete="name"]').fill("Ann");
    await ann.locator('input[type="password"]').fill(PASSWORD);
    await press(ann, "Join");
    await waitForText(ann, "Sign out");
    await ann.close();
    const stranger = await (await browser.createBrowserContext()).newPage();
    await stranger.goto(origin);
    await take({ owner: page, stranger, program: await findConsent(page, origin) });
  } finally {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
