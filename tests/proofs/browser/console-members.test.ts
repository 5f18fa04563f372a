import { expect, test, vi } from "vitest";
import { startAccounts } from "./accounts-fixture.ts";
import { field, openConsole, setupBrowser, WAIT } from "./console-fixture.ts";

const browser = await setupBrowser();
const { origin, api, board_id, owner_link } = await startAccounts();
const owner = await openConsole(await browser.createBrowserContext(), owner_link);
await owner.sees("h1", "Harbour");

const invite = async (invited_email: string) =>
  (await api.post("/api/v1/organizations/me/invites", { body: { invited_email } })).token;

/** Opens a browser in which a person joins by an invite. */
async function join(name: string) {
  const link = `${origin}/#invite=${await invite(`${name.toLowerCase()}@example.com`)}`;
  const view = await openConsole(await browser.createBrowserContext(), link);
  await view.page.locator('input[autocomplete="name"]').fill(name);
  await view.click("Join");
  await view.sees(".nav", "Sign out");
  return view;
}

const members = async () => (await api.get("/api/v1/organizations/me/members")).items;
const memberOf = async (name: string) => (await members()).find(({ user }) => user?.name === name);
const ann = await join("Ann");

test("an owner gives a member a board and a role, and the member's page shows both after a reload", async () => {
  await ann.sees("main", "You see no board yet.");
  await owner.go("#/organization/members");
  await owner.sees(".rows", "sees no board yet");
  await owner.click("Change the rights of Ann");
  await owner.page.locator("dialog fieldset:last-of-type .choices input").click();
  await owner.click("Save");
  await owner.hasNoDialog();
  await owner.sees(".rows", "changes Harbour");
  await ann.page.reload();
  await ann.sees("h1", "Harbour");
  expect(await ann.text(".nav-links")).not.toContain("Gateways");
  await owner.click("Change the rights of Ann");
  await owner.page.select(field(`member.${(await memberOf("Ann"))!.id}`, "role"), "admin");
  await owner.click("Save");
  await owner.hasNoDialog();
  await owner.sees(".rows .badge.accent", "admin");
  expect(await memberOf("Ann")).toMatchObject({ role: "admin", board_access: [{ board_id, can_read: true, can_write: true }] });
  await ann.page.reload();
  await ann.sees(".nav-links", "Gateways");
  expect([owner.errors, ann.errors]).toEqual([[], []]);
});

test("the refusal of a role is shown in the form of the member, which stays open", async () => {
  const self = (await members()).find(({ role }) => role === "owner")!;
  await owner.click(`Change the rights of ${self.user!.preferred_name ?? self.user!.name ?? self.user!.email}`);
  await owner.page.select(field(`member.${self.id}`, "role"), "member");
  await owner.click("Save");
  await owner.sees("dialog [role='alert']", "Organization must have at least one owner");
  await owner.click("Start over");
  await owner.page.keyboard.press("Escape");
  await owner.hasNoDialog();
  expect((await members()).find(({ id }) => id === self.id)?.role).toBe("owner");
});

test("a removed member loses the boards at once, and the last owner cannot delete the account", async () => {
  await owner.go("#/personal/profile");
  await owner.click("Delete your account");
  await owner.page.locator("::-p-aria(Type delete to go on)").fill("delete");
  await owner.click("Delete the account");
  await owner.sees(".notices", "Organization must have at least one owner");
  await owner.go("#/organization/members");
  await owner.click("Remove");
  await owner.sees(".confirm", "Ann loses all access at once.");
  await owner.click("Remove the member");
  await vi.waitFor(async () => expect(await owner.text(".rows")).not.toContain("Ann"), WAIT);
  expect(await memberOf("Ann")).toBeUndefined();
  await ann.page.reload();
  await ann.sees("[role='alert']", "Not Found");
  await ann.go("#/");
  await ann.sees("h1", "Begin with a board");
  expect(await ann.text(".nav")).not.toContain("Harbour");
});

test("a person with an account joins another organization by its token, and changes between the two", async () => {
  const token = await invite("ann@example.com");
  await ann.go("#/organization/general");
  await ann.fill("accept-invite", "token", "nonsense");
  await ann.click("Join");
  await ann.sees("[role='alert']", "Not Found");
  await ann.fill("accept-invite", "token", token);
  await ann.click("Join");
  await ann.sees("main", "You see no board yet.");
  expect((await memberOf("Ann"))?.role).toBe("member");
  const other = await ann.page.evaluate(`document.querySelector(".nav select option:not(:checked)").value`);
  await ann.page.select(".nav select", other as string);
  await ann.sees("h1", "Begin with a board");
  expect([owner.errors, ann.errors]).toEqual([[], []]);
});

test("an owner renames the organization, creates another organization, and deletes it after typing its name", async () => {
  const home = (await api.get("/api/v1/organizations/me")).id;
  await owner.go("#/organization/general");
  await owner.fill(`organization.${home}`, "name", "Coast");
  await owner.click("Rename");
  await owner.sees(".notices", "The organization was renamed.");
  await owner.fill("organization.new", "name", "Coast");
  await owner.click("Create organization");
  await owner.sees("[role='alert']", "You already belong to an organization with this name");
  await owner.fill("organization.new", "name", "Hills");
  await owner.click("Create organization");
  await owner.sees("h1", "Begin with a board");
  await owner.sees(".nav select option:checked", "Hills");
  await owner.go("#/organization/general");
  await owner.sees("main", "removes its 0 boards");
  await owner.click("Delete the organization");
  await owner.page.locator("::-p-aria(Type Hills to go on)").fill("Hill");
  expect(await owner.page.evaluate(`document.querySelector(".confirm .danger").disabled`)).toBe(true);
  await owner.page.locator("::-p-aria(Type Hills to go on)").fill("Hills");
  await owner.click("Delete for ever");
  await owner.sees("h1", "Harbour");
  expect((await api.get("/api/v1/organizations/me/list")).map(({ name }) => name)).toEqual(["Coast"]);
  expect(owner.errors).toEqual([]);
});

test("a person who deletes the account is signed out, and is no member any more", async () => {
  await ann.go("#/personal/profile");
  await ann.click("Delete your account");
  await ann.page.locator("::-p-aria(Type delete to go on)").fill("delete");
  await ann.click("Delete the account");
  await ann.sees("main", "Where people and agents coordinate.");
  expect(await memberOf("Ann")).toBeUndefined();
  expect([ann.errors, ann.outside]).toEqual([[], []]);
});
