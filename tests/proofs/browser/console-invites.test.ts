import { expect, test } from "vitest";
import { startAccounts } from "./accounts-fixture.ts";
import { type Console, openConsole, setupBrowser } from "./console-fixture.ts";

const PASSWORD = "a green fence by the sea";

const browser = await setupBrowser();
const { origin, owner_link } = await startAccounts();
const openPage = async (address: string) => openConsole(await browser.createBrowserContext(), `${origin}/${address}`);
const owner = await openConsole(await browser.createBrowserContext(), owner_link);
await owner.sees("h1", "Harbour");

/** Sends a request of the person whose page this is. Returns the field of the answer. */
const post = async ({ page }: Console, path: string, body: object, field = "id"): Promise<string> =>
  (await page.evaluate(`(async () => (await (await fetch(${JSON.stringify(path)}, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: ${JSON.stringify(JSON.stringify(body))},
  })).json())[${JSON.stringify(field)}])()`)) as string;

/** Invites a person to the active organization. Returns the part of the link behind the address of the service. */
const invite = async (view: Console, invited_email: string) =>
  `#invite=${await post(view, "/api/v1/organizations/me/invites", { invited_email }, "token")}`;

async function join(address: string, name: string): Promise<Console> {
  const view = await openPage(address);
  await view.page.locator('input[autocomplete="name"]').fill(name);
  await view.page.locator('input[type="password"]').fill(PASSWORD);
  await view.click("Join");
  await view.sees(".nav", "Sign out");
  return view;
}

async function signIn(view: Console, email: string): Promise<void> {
  await view.page.locator('input[autocomplete="username"]').fill(email);
  await view.page.locator('input[type="password"]').fill(PASSWORD);
  await view.click("Sign in");
}

const organizations = '.nav select[aria-label="Organization"]';

/** Another organization, whose owner has joined the first one by an invite. */
const ann = await join(await invite(owner, "ann@example.com"), "Ann");
await post(ann, "/api/v1/organizations", { name: "Annex" });

test("a person with an account who opens the link of an invite is asked to sign in, and joins with that account", async () => {
  await join(await invite(owner, "carl@example.com"), "Carl");
  const carl = await openPage(await invite(ann, "carl@example.com"));
  await carl.page.locator('input[autocomplete="name"]').fill("Carl");
  await carl.click("Join");
  await carl.sees("main", "There is an account with this address. Sign in to join.");
  await signIn(carl, "carl@example.com");
  await carl.sees("dialog", "Join by this invite?");
  await carl.click("Join");
  await carl.sees(organizations, "Annex");
  expect(carl.errors).toEqual([]);
});

test("a person whose account has another address than the invite signs in and joins, also after a reload of the page", async () => {
  await join(await invite(owner, "dora@example.com"), "Dora");
  const dora = await openPage(await invite(ann, "dora.work@example.com"));
  await dora.sees("main", "Join");
  await dora.page.reload();
  await dora.click("I have an account");
  await signIn(dora, "dora@example.com");
  await dora.sees("dialog", "Join by this invite?");
  await dora.click("Join");
  await dora.sees(organizations, "Annex");
  expect(dora.errors).toEqual([]);
});

test("a signed-in person who opens the link of an invite is asked whether to join, and the link works once", async () => {
  const link = await invite(ann, "olga@example.com");
  await owner.go(link);
  await owner.sees("dialog", "Join by this invite?");
  await owner.click("Not now");
  await owner.sees("h1", "Harbour");
  await owner.go(link);
  await owner.sees("dialog", "Join by this invite?");
  await owner.click("Join");
  await owner.sees(organizations, "Annex");
  await owner.go(link);
  await owner.click("Join");
  await owner.sees(".notices", "The invite was used or removed. Ask for a new one.");
  expect(owner.errors).toEqual([]);
});

test("a person who has joined by an invite signs in again in the same page when the session ends", async () => {
  const eve = await join(await invite(ann, "eve@example.com"), "Eve");
  await post(eve, "/api/auth/sign-out", {});
  await eve.go("#/inbox");
  await eve.sees("dialog", "Sign in again");
  await signIn(eve, "eve@example.com");
  await eve.sees("main", "Inbox");
  await eve.page.waitForFunction("document.querySelector('dialog') === null");
  expect(eve.errors).toEqual([]);
});

test("when another person signs in after a session has ended, the page is loaded again with that person's data", async () => {
  const view = await openPage("");
  await signIn(view, "dora@example.com");
  await view.sees(".nav", "Sign out");
  await view.go("#/personal/profile");
  await view.page.waitForFunction(`document.querySelector('[id$="-name"]')?.value === "Dora"`);
  await view.page.evaluate("void (window.marked = true)");
  await post(view, "/api/auth/sign-out", {});
  await view.go("#/inbox");
  await view.sees("dialog", "Sign in again");
  await signIn(view, "carl@example.com");
  await view.page.waitForFunction("window.marked === undefined");
  await view.go("#/personal/profile");
  await view.page.waitForFunction(`document.querySelector('[id$="-name"]')?.value === "Carl"`);
  expect(view.errors).toEqual([]);
});
