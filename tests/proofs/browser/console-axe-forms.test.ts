/** Pages that only accounts have, and the forms of webhooks and subscriptions, each with what it shows after a refusal. */
import { expect, test, vi } from "vitest";
import { startProgram as startMcpProgram } from "../../accounts/program.ts";
import { startAccounts } from "./accounts-fixture.ts";
import { findings, inEveryLook } from "./axe.ts";
import { addAuthenticator, type Console, openConsole, setupBrowser, WAIT } from "./console-fixture.ts";

const browser = await setupBrowser();
const { origin, board_id, owner_link } = await startAccounts((api, board_id) =>
  api.post("/api/v1/boards/{board_id}/webhooks", { params: { path: { board_id } }, body: { description: "Read the orders" } }),
);
const view = await openConsole(await browser.createBrowserContext(), owner_link);
await view.sees("h1", "Harbour");

const RECEIVER = "https://example.com/events";

/** Runs axe on the page as it is, in each look. */
async function inspect(what: string, { page }: Console = view): Promise<string[]> {
  const found: string[] = [];
  await inEveryLook(page, async (look) => void found.push(...(await findings(page, `${what} ${look}`))));
  return found;
}
const field = (form: string, name: string) => view.page.locator(`[id="field-${form}-${name}"]`);
const closeDialog = async () => {
  await view.page.keyboard.press("Escape");
  await vi.waitFor(async () => expect(await view.count("dialog")).toBe(0), WAIT);
};

test("axe finds no problem in the page of the account, with a passkey and a refused password", async () => {
  await addAuthenticator(view.page);
  await view.go("#/personal/account");
  await view.sees("main", "There are no passkeys.");
  await view.click("Add a passkey");
  const found = await inspect("new passkey");
  await field("passkey.new", "name").fill("Laptop");
  await view.page.locator("dialog button.primary").click();
  await view.sees(".rows", "Laptop");
  await field("account.password", "newPassword").fill("short");
  await view.click("Set the password");
  await view.sees("[role='alert']", "guessed");
  found.push(...(await inspect("account")));
  await view.click("Remove");
  await view.sees("main", "Remove the passkey");
  found.push(...(await inspect("removal of a passkey")));
  expect(found).toEqual([]);
});

test("axe finds no problem in the page of sign-in and of an invite in accounts mode", async () => {
  const other = await openConsole(await browser.createBrowserContext(), `${origin}/`);
  await other.sees("main", "Sign in with a passkey");
  const found = await inspect("sign-in", other);
  const invited = await openConsole(await browser.createBrowserContext(), `${origin}/#invite=unknown`);
  await invited.sees("main", "Join");
  found.push(...(await inspect("invite", invited)));
  expect(found).toEqual([]);
});

test("axe finds no problem in the pages on which a person connects a program or a device, even after a wrong code", async () => {
  const client = startMcpProgram({
    request: (url, init) => fetch(url, init),
    origin,
    redirect: "http://127.0.0.1:1/callback",
    metadata: { client_name: "Helper" },
  });
  await expect(client.connect()).rejects.toThrow("Unauthorized");
  await view.page.goto(client.authorization!.href);
  await view.sees("h1", "Connect Helper?");
  await view.page.select('[id^="field-consent"][id$="-which"]', "some");
  const found = await inspect("connect");
  await view.go("#device");
  await view.sees("h1", "Connect a device");
  found.push(...(await inspect("device")));
  await field("device", "code").fill("WRONG");
  await view.click("Continue");
  await view.sees("[role='alert']", "Invalid user code");
  found.push(...(await inspect("wrong code")));
  expect(found).toEqual([]);
});

test("axe finds no problem in the forms of a webhook, new and changed, even after a refusal", async () => {
  await view.go(`#/webhooks/${board_id}`);
  await view.click("New webhook");
  await view.click("Create webhook");
  await view.sees("dialog [role='alert']", "at least 1 character");
  const found = await inspect("new webhook");
  await closeDialog();
  await view.click("Change the webhook Read the orders");
  await view.sees("dialog", "Change the webhook");
  found.push(...(await inspect("webhook")));
  await closeDialog();
  expect(found).toEqual([]);
});

test("axe finds no problem in the forms of a subscription, its secret and its row", async () => {
  await view.go("#/organization/subscriptions");
  await view.click("New subscription");
  await view.click("Create subscription");
  await view.page.waitForSelector("dialog [role='alert']", WAIT);
  const found = await inspect("new subscription");
  await field("subscription.new.organization", "url").fill(RECEIVER);
  await view.click("Create subscription");
  await view.sees("main", "Secret, with which the receiver checks signatures");
  found.push(...(await inspect("secret of a subscription")));
  await view.click(`Change the subscription ${RECEIVER}`);
  await view.sees("dialog", "Change the subscription");
  found.push(...(await inspect("subscription")));
  await closeDialog();
  expect(found).toEqual([]);
});
