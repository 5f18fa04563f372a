import { expect, vi } from "vitest";
import type { Page } from "./chromium.ts";
import { type Console, WAIT } from "./console-fixture.ts";

/** Returns a function that cuts a page's connection, or restores it. */
export async function toConnection(page: Page): Promise<(is_cut: boolean, upload_bytes_per_second?: number) => Promise<unknown>> {
  const tools = await page.createCDPSession();
  await tools.send("Network.enable");
  return (offline, uploadThroughput = -1) =>
    tools.send("Network.emulateNetworkConditions", { offline, latency: 0, downloadThroughput: -1, uploadThroughput });
}

/** A form with a field, which is on a page or behind a button of it. */
export interface OfflineForm {
  page: string;
  opener?: string;
  field: string;
  text: string;
  /** Fills in what else the service needs. */
  more?: (view: Console) => Promise<unknown>;
}

/** Closes the notices of earlier forms, which may be above a button. */
export const closeNotices = ({ page }: Console) =>
  page.evaluate('document.querySelectorAll(".notice button").forEach((button) => button.click())');

/** Sends a form without a connection, then with one. Expects that what was typed stays until the service has accepted it. */
export async function sendTwice(view: Console, form: OfflineForm, cut: Awaited<ReturnType<typeof toConnection>>): Promise<void> {
  const evaluate = (expression: string) => view.page.evaluate(expression);
  const send = () => view.page.locator(`form:has(${form.field}) button[type="submit"]`).click();
  await view.go(`#/${form.page}`);
  if (form.opener) await view.click(form.opener);
  await view.page.locator(form.field).fill(form.text);
  await form.more?.(view);
  await closeNotices(view);
  await cut(true);
  await send();
  await view.sees(`form:has(${form.field}) [role='alert']`, "The service does not answer.");
  expect(await evaluate(`document.querySelector(${JSON.stringify(form.field)}).value`)).toBe(form.text);
  await cut(false);
  await send();
  // Only an accepted form removes its draft. A form without a draft, which has a secret, is emptied or leaves the page.
  const isOpen = `Object.values(sessionStorage).some((draft) => draft.includes(${JSON.stringify(form.text)})) ||
    document.querySelector("form:has(${form.field.replaceAll('"', '\\"')}) [role='alert']") !== null`;
  await vi.waitFor(async () => expect(await evaluate(isOpen)).toBe(false), WAIT);
  if ((await view.count("dialog")) > 0) await view.page.keyboard.press("Escape");
  await view.hasNoDialog();
}
