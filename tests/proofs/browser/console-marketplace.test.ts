import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test, vi } from "vitest";
import { skillFile, startCodeHost } from "../../support/code-host.ts";
import { setup } from "../../support/fixtures.ts";
import { temporaryFolder } from "../../support/program.ts";
import { findWebRedirect } from "../../support/web-redirect.ts";
import { openConsole, WAIT } from "./console-fixture.ts";
import { setupHost } from "./console-host.ts";

const code = await setup(startCodeHost());
const { port, ca } = findWebRedirect(code.web)!;
const certificate = path.join(temporaryFolder(), "code-host.pem");
writeFileSync(certificate, ca);
const { browser, host, service, hears, readAgentToken } = await setupHost({
  NODE_OPTIONS: `--require ${path.resolve(import.meta.dirname, "../../support/web-redirect.cjs")}`,
  OTHERS_PORT: String(port),
  OTHERS_CA: certificate,
});
const { api } = service;
const view = await openConsole(await browser.createBrowserContext(), service.link);
// A new organization begins with packs, whose repositories this test does not have.
for (const { id: pack_id } of await api.get("/api/v1/skills/packs"))
  await api.delete("/api/v1/skills/packs/{pack_id}", { params: { path: { pack_id } } });
const packs = async () => api.get("/api/v1/skills/packs");
const skills = async () => (await api.get("/api/v1/skills/marketplace")).map(({ name }) => name).toSorted();

test("a pack is added and changed, its sync says what is new, and after its removal its skills stay", async () => {
  await code.publish("acme/tools", { "review/SKILL.md": skillFile("review") });
  await view.go("#/skills/packs");
  await view.sees("main", "There are no packs.");
  await view.click("Add a pack");
  await view.fill("pack.new", "source_url", "https://github.com/acme/toolz");
  await view.click("Add the pack");
  await view.hasNoDialog();
  await view.sees(".rows", "0 skills");
  await view.click("Sync toolz");
  await view.sees(".rows [role='alert']", "The code host has no public repository of this name");
  await view.click("Change the pack toolz");
  const form = `pack.${(await packs())[0]!.id}`;
  await view.fill(form, "source_url", "https://github.com/acme/tools");
  await view.fill(form, "name", "Tools");
  await view.fill(form, "description", "For every day");
  await view.click("Save");
  await view.hasNoDialog();
  await view.sees(".rows", "For every day");
  await view.click("Sync Tools");
  await view.sees(".rows [role='status']", "1 skill, 1 new, 0 changed.");
  await view.sees(".rows .badge", "1 skill");
  await code.publish("acme/tools", { "review/SKILL.md": skillFile("review"), "test/SKILL.md": skillFile("test") });
  await view.click("Sync Tools");
  await view.sees(".rows [role='status']", "2 skills, 1 new, 0 changed.");
  await view.click("Remove");
  await view.sees(".confirm", "Its skills stay.");
  await view.click("Remove the pack");
  await view.sees("main", "There are no packs.");
  expect(await skills()).toEqual(["review", "test"]);
  expect(view.errors).toEqual([]);
});

test("a skill is added, installed on a host by its main agent, uninstalled and removed", async () => {
  await readAgentToken();
  await view.go("#/skills/marketplace");
  await view.sees(".rows", "review");
  await view.click("Add a skill");
  await view.fill("skill.new", "source_url", "nowhere");
  await view.click("Add the skill");
  await view.page.waitForSelector("[id='field-skill.new-source_url-problem']");
  await view.fill("skill.new", "source_url", "https://github.com/acme/more/tree/main/forecast");
  await view.click("Add the skill");
  await view.hasNoDialog();
  await view.sees(".rows", "forecast");
  await view.click("Install forecast");
  await view.sees(".notices", "The main agent of the host was asked to do it.");
  await view.sees(".rows .badge", "installed");
  await hears("https://github.com/acme/more/tree/main/forecast");
  host.failNext("chat.send", { message: "The agent is offline" }, Infinity);
  await view.click("Uninstall forecast");
  await view.sees(".notices [role='alert']", "The skill was not removed from the host");
  await view.sees(".notices [role='alert']", "The agent is offline");
  host.faults.failures.length = 0;
  await view.click("Uninstall forecast");
  await vi.waitFor(async () => expect(await view.text(".rows .badge")).not.toContain("installed"), WAIT);
  await view.page.locator("::-p-aria(Search the skills)").fill("forec");
  await vi.waitFor(async () => expect(await view.text(".rows")).not.toContain("review"), WAIT);
  await view.click("Remove");
  await view.click("Remove the skill");
  await view.sees("main", "No skill was found.");
  expect(await skills()).toEqual(["review", "test"]);
  expect([view.errors, view.outside]).toEqual([[], []]);
});
