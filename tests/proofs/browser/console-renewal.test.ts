import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test, vi } from "vitest";
import { temporaryFolder } from "../../support/program.ts";
import { startAccounts } from "./accounts-fixture.ts";
import { openConsole, setupBrowser, WAIT } from "./console-fixture.ts";

const DAY_MS = 86_400_000;

const browser = await setupBrowser();
const CLOCK_FILE = path.join(temporaryFolder(), "clock");
/** Shifts the clock of the service, but not of the browser. */
const setDay = (day: number) => writeFileSync(CLOCK_FILE, String(day * DAY_MS));
const { owner_link } = await startAccounts(undefined, {
  NODE_OPTIONS: `--require ${path.resolve(import.meta.dirname, "../../support/clock.cjs")}`,
  CLOCK_FILE,
});

test("a person who opens the console now and then stays signed in for longer than the 30 days of a session", async () => {
  const view = await openConsole(await browser.createBrowserContext(), owner_link);
  await view.sees("h1", "Harbour");
  for (const day of [8, 35]) {
    setDay(day);
    await view.page.reload();
    await view.sees("h1", "Harbour");
    const isExtended = `(await (await fetch("/api/auth/list-sessions")).json())
      .some(({ expiresAt }) => new Date(expiresAt) > new Date(${Date.now() + (day + 29) * DAY_MS}))`;
    await vi.waitFor(async () => expect(await view.page.evaluate(`(async () => ${isExtended})()`)).toBe(true), WAIT);
  }
  setDay(70);
  await view.page.reload();
  await view.sees("dialog", "Sign in again");
  expect(view.errors).toEqual([]);
});
