import { expect, test, vi } from "vitest";
import { startAccounts } from "./accounts-fixture.ts";
import { addAuthenticator, openConsole, setupBrowser, WAIT } from "./console-fixture.ts";

const PASSWORD = "a green fence by the sea";

const browser = await setupBrowser();
const { origin, owner_link } = await startAccounts();

const openPage = async (address: string) => openConsole(await browser.createBrowserContext(), `${origin}/${address}`);
const owner = await openConsole(await browser.createBrowserContext(), owner_link);
await owner.sees("h1", "Harbour");
await addAuthenticator(owner.page);

const field = (form: string, name: string) => `[id="field-${form}-${name}"]`;
const fill = (form: string, name: string, text: string) => owner.page.locator(field(form, name)).fill(text);

test("the navigation says what the owner's account lacks, and the page of invites asks for a name and an address first", async () => {
  await owner.sees(".nav", "Only this browser knows you.");
  await owner.go("#/organization/invites");
  await owner.sees("main", "Enter your name and address before you invite somebody.");
  expect(owner.errors).toEqual([]);
});

test("the owner sets an address and a password, and signs in with them elsewhere", async () => {
  await owner.go("#/personal/account");
  await fill("account", "email", "olga@example.com");
  await owner.page.locator('.card-panel:has([id*="account-email"]) button.primary').click();
  await owner.sees(".notices", "Your account was changed.");
  await fill("account.password", "newPassword", "short");
  await owner.click("Set the password");
  await owner.sees("[role='alert']", "guessed");
  await fill("account.password", "newPassword", PASSWORD);
  await owner.click("Set the password");
  await owner.sees(".notices", "The password was changed.");
  await owner.sees("main", "Current password");
  await vi.waitFor(async () => expect(await owner.text(".nav")).not.toContain("Only this browser"), WAIT);
  await owner.go("#/organization/invites");
  await owner.sees("main", "Nobody is invited.");
  expect(await owner.text("main")).not.toContain("before you invite");
  await owner.go("#/personal/account");

  const elsewhere = await openPage("");
  await elsewhere.page.locator('input[autocomplete="username"]').fill("olga@example.com");
  await elsewhere.page.locator('input[type="password"]').fill(PASSWORD);
  await elsewhere.click("Sign in");
  await elsewhere.sees("h1", "Harbour");
  expect([owner.errors, elsewhere.errors]).toEqual([[], []]);
});

test("sessions are listed, and the browser of an ended session has to sign in again", async () => {
  const other = await openPage("");
  await other.page.locator('input[autocomplete="username"]').fill("olga@example.com");
  await other.page.locator('input[type="password"]').fill(PASSWORD);
  await other.click("Sign in");
  await other.sees("h1", "Harbour");
  await owner.page.reload();
  await owner.sees(".rows", "this one");
  await owner.click("End all others");
  await owner.click("End the other sessions");
  await vi.waitFor(async () => expect(await owner.text("main")).not.toContain("End all others"), WAIT);
  await other.page.reload();
  await other.sees("dialog, main", "Sign in");
  await owner.page.reload();
  await owner.sees(".rows", "this one");
});

test("a passkey is added, signs in without a password, and is removed", async () => {
  await owner.click("Add a passkey");
  await fill("passkey.new", "name", "Laptop");
  await owner.page.locator("dialog button.primary").click();
  await owner.sees(".rows", "Laptop");
  await owner.click("Sign out");
  await owner.sees("main", "Sign in with a passkey");
  await owner.click("Sign in with a passkey");
  await owner.sees("main", "Laptop");
  // The form of the password moves the list of passkeys when it appears.
  await owner.sees("main", "Current password");
  await owner.click("Remove");
  await owner.click("Remove the passkey");
  await owner.sees("main", "There are no passkeys.");
  expect(owner.errors).toEqual([]);
});

test("a person joins by the link of an invite, and gets a new link from the owner after losing every way to sign in", async () => {
  await owner.page.goto(`${origin}/#/organization/invites`);
  await owner.page.reload();
  await owner.click("Invite a person");
  await fill("invite", "invited_email", "ann@example.com");
  await owner.click("Invite");
  await owner.sees(".snippet pre", "/#invite=");
  const invite = /#invite=\S+?(?=\n|$)/.exec(await owner.text(".snippet pre"))![0];
  const ann = await openPage(invite);
  await ann.page.locator('input[autocomplete="name"]').fill("Ann");
  await ann.page.locator('input[type="password"]').fill(PASSWORD);
  await ann.click("Join");
  await ann.sees(".nav", "Sign out");
  await owner.go("#/organization/members");
  await owner.sees(".rows", "Ann");
  await owner.click("Sign-in link");
  await owner.click("Make the link");
  await owner.sees(".snippet pre", "/#link=");
  const lost = await openPage(/#link=\S+/.exec(await owner.text(".snippet pre"))![0]);
  await lost.sees(".nav", "Sign out");
  expect(ann.errors).toEqual([]);
});
