import { expect, test } from "vitest";
import { startAccounts } from "./accounts-fixture.ts";
import { field, openConsole, setupBrowser } from "./console-fixture.ts";
import { closeNotices, sendTwice, toConnection } from "./offline.ts";

const PASSWORD = "a green fence by the sea";

const browser = await setupBrowser();
const { origin, api, owner_link } = await startAccounts();
const owner = await openConsole(await browser.createBrowserContext(), owner_link);
await owner.sees("h1", "Harbour");
const cut = await toConnection(owner.page);
const { token } = await api.post("/api/v1/organizations/me/invites", { body: { invited_email: "ann@example.com" } });

test("a person who joins without a connection keeps the name in the form, and joins with the second try", async () => {
  const ann = await openConsole(await browser.createBrowserContext(), `${origin}/#invite=${token}`);
  const cutAnn = await toConnection(ann.page);
  await ann.page.locator('input[autocomplete="name"]').fill("Ann");
  await cutAnn(true);
  await ann.click("Join");
  await ann.sees("[role='alert']", "The service does not answer.");
  expect(await ann.page.evaluate(`document.querySelector('input[autocomplete="name"]').value`)).toBe("Ann");
  await cutAnn(false);
  await ann.click("Join");
  await ann.sees("main", "You see no board yet.");
  expect(ann.errors).toEqual([]);
});

test("an account is renamed and gets a password with the second try, when the first had no connection", async () => {
  await sendTwice(owner, { page: "personal/account", field: field("account", "name"), text: "Olga" }, cut);
  await sendTwice(owner, { page: "personal/account", field: field("account", "email"), text: "olga@example.com" }, cut);
  await closeNotices(owner);
  const page = "personal/account";
  await sendTwice(owner, { page, field: field("account.password", "newPassword"), text: PASSWORD }, cut);
  await owner.sees("main", "Current password");
  expect(owner.errors).toEqual([]);
});

test("a person signs in with a password at the second try, when the first had no connection", async () => {
  const view = await openConsole(await browser.createBrowserContext(), `${origin}/`);
  const cutView = await toConnection(view.page);
  await view.page.locator('input[autocomplete="username"]').fill("olga@example.com");
  await view.page.locator('input[type="password"]').fill(PASSWORD);
  await cutView(true);
  await view.click("Sign in");
  await view.sees("[role='alert']", "The service does not answer.");
  await cutView(false);
  await view.click("Sign in");
  await view.sees("h1", "Harbour");
  expect(view.errors).toEqual([]);
});

test("rights of a member that are saved without a connection stay chosen in the form, and are stored with the second try", async () => {
  const members = async () => (await api.get("/api/v1/organizations/me/members")).items;
  const ann = (await members()).find(({ user }) => user?.name === "Ann")!;
  await owner.go("#/organization/members");
  await owner.click("Change the rights of Ann");
  await owner.page.select(field(`member.${ann.id}`, "role"), "admin");
  await cut(true);
  await owner.click("Save");
  await owner.sees("dialog [role='alert']", "The service does not answer.");
  expect(await owner.value(`member.${ann.id}`, "role")).toBe("admin");
  await cut(false);
  await owner.click("Save");
  await owner.hasNoDialog();
  expect((await members()).find(({ id }) => id === ann.id)?.role).toBe("admin");
  expect([owner.errors, owner.outside]).toEqual([[], []]);
});
