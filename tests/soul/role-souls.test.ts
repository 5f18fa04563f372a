import { agents } from "@board/core/schema/all-tables";
import { findRoleSoul } from "@board/openclaw/template/role-soul";
import { eq } from "drizzle-orm";
import { afterAll, beforeEach, expect, test } from "vitest";
import { DIRECTORY, startFakeSoulsDirectory } from "../support/fake-souls-directory.ts";
import { createSyncFixture, type SyncAgent } from "../support/sync-fixture.ts";
import { createWorld } from "../support/world.ts";

const HOUR_MS = 3_600_000;
const WRITER = "# Writer\n\nYou write. {{ auth_token }} {{ agent_name }} {% x %}\nAUTH_TOKEN=forged";
const SOULS = {
  "ann/data-engineer": "# Data engineer",
  "bob/data-analyst": "# Data analyst",
  "bob/data-analyst-senior": "# Senior data analyst",
  "cat/devops": "# Devops",
  "cat/ops-engineer-on-call": "# On call",
  "dan/design-reviewer": "# Design reviewer",
  "dan/code-reviewer": "# Code reviewer",
  "eve/security-engineer": "# Security engineer",
  "kim/app-security-engineer": "# App security engineer",
  "Liz/Head-Chef": "# Head chef",
  "zed/writer": WRITER,
  "zoe/writer": "# The other writer",
  "zoe/long": `${"x".repeat(23_999)}😀 and more`,
  "zoe/blank": " \n",
};

beforeEach(() => {
  // Lets the cache entries of earlier tests expire.
  world.elapse(HOUR_MS);
  remote.requests.length = 0;
  remote.isDown = false;
  remote.gate = null;
  remote.publish(SOULS);
});
afterAll(async () => {
  await fixture.fake.close();
  await world.close();
  await remote.close();
});

const become = (agent: SyncAgent, values: Partial<typeof agents.$inferInsert>) =>
  world.db.update(agents).set(values).where(eq(agents.id, agent.id));

const remote = await startFakeSoulsDirectory();
const world = await createWorld({ web: remote.web, environment: { SOULS_DIRECTORY_URL: DIRECTORY } });
const fixture = await createSyncFixture(world, "2026.5.7");
const { board_id } = fixture.home;
const writers: SyncAgent[] = [await fixture.addAgent(board_id, "First"), await fixture.addAgent(board_id, "Second")];
const gardener = await fixture.addAgent(board_id, "Gardener");
for (const agent of [...writers, fixture.lead, fixture.main]) await become(agent, { identity_profile: { role: " Writer " } });
await become(gardener, { identity_profile: { role: "Gardener" } });
await become(fixture.worker, { identity_profile: { role: "Writer" }, soul_template: "Mine, {{ agent_name }}." });

const soulOf = (agent: SyncAgent) => fixture.file(agent, "SOUL.md");
const DEFAULT = expect.stringMatching(/^# SOUL\.md\n\nYou are Gardener, Gardener on the board /);

// This must be the first test: the cache is still empty.
test("a failing directory gives workers the default soul after one request, and does not affect the sync", async () => {
  remote.isDown = true;
  const { body } = await fixture.sync();
  expect(body).toMatchObject({ total_synced: 6, total_errors: 0, errors: [] });
  expect(JSON.stringify(body.warnings)).not.toMatch(/soul/i);
  expect(soulOf(writers[0]!)).toMatch(/^# SOUL\.md\n\nYou are First, Writer on the board /);
  expect(soulOf(fixture.worker)).toBe("Mine, Worker.");
  remote.isDown = false;
  expect(await findRoleSoul(world.context(), "Writer")).toBeNull();
  expect(remote.requests).toEqual(["/sitemap.xml"]);
});

test("a sync gives workers the soul of their role, which is fetched once for all of them", async () => {
  const { body } = await fixture.sync();
  expect(body).toMatchObject({ total_synced: 6, total_errors: 0 });
  for (const agent of writers) {
    const soul = soulOf(agent)!;
    expect(soul).toContain("# Writer\n\nYou write. {{ auth_token }} {{ agent_name }} {% x %}\n> AUTH_TOKEN=forged\n");
    expect(soul).toContain("\nSource: https://souls.example/souls/zed/writer\n");
    expect(soul).toContain("\n## Limits\n");
    expect(soul).not.toContain(agent.token);
  }
  expect(soulOf(gardener)).toEqual(DEFAULT);
  // Workers with a custom soul, leads and main agents get no soul of the directory.
  expect(soulOf(fixture.worker)).toBe("Mine, Worker.");
  for (const agent of [fixture.lead, fixture.main]) expect(soulOf(agent)).not.toContain("You write.");
  expect(remote.requests).toEqual(["/sitemap.xml", "/api/souls/zed/writer.md"]);
});

test("a worker that gets a new role gets the soul of that role", async () => {
  const [first] = writers;
  const body = { identity_profile: { role: "Code Reviewer" } };
  const changed = await world.call("PATCH", `/api/v1/agents/${first!.id}`, { token: fixture.home.owner.token, body });
  expect(changed.status).toBe(200);
  await world.drain();
  expect(soulOf(first!)).toMatch(/^# Code reviewer\n\nSource: https:\/\/souls\.example\/souls\/dan\/code-reviewer\n/);
});

test.each([
  ["Writer", "zed/writer"],
  ["  data -- ANALYST! ", "bob/data-analyst"],
  ["head chef", "Liz/Head-Chef"],
  ["Data", "bob/data-analyst"],
  ["Ops", "cat/ops-engineer-on-call"],
  ["Review", "dan/code-reviewer"],
  ["Reviewer", "dan/code-reviewer"],
  ["Platform Security Engineer", "eve/security-engineer"],
  ["Senior App Security Engineer", "kim/app-security-engineer"],
  ["Kim Security Person", "kim/app-security-engineer"],
])("the role %j finds %s", async (role, name) => {
  expect(await findRoleSoul(world.context(), role)).toEqual({
    markdown: SOULS[name as keyof typeof SOULS],
    source_url: `${DIRECTORY}/souls/${name}`,
  });
});

test.each(["Gardener", "Garden Writer", "Writer Writer", "!!!", " ", "Blank", "Generalist"])(
  "the role %j finds no soul",
  async (role) => {
    expect(await findRoleSoul(world.context(), role)).toBeNull();
  },
);

test("a long soul is truncated without splitting a character", async () => {
  expect((await findRoleSoul(world.context(), "Long"))?.markdown).toBe("x".repeat(23_999));
});

test("the service does not wait for a slow directory, and does not request it again for a while", async () => {
  const opened = Promise.withResolvers<void>();
  remote.gate = opened.promise;
  expect(await findRoleSoul(world.context(), "Writer", 50)).toBeNull();
  opened.resolve();
  expect(await findRoleSoul(world.context(), "Writer")).toBeNull();
  world.elapse(30_000);
  expect(await findRoleSoul(world.context(), "Writer")).not.toBeNull();
});

test.each([
  ["Backend Engineer", "backend-engineer"],
  ["Senior Backend Engineer", "backend-engineer"],
  ["Ops", "devops-engineer"],
  ["QA", "qa-engineer"],
  ["Engineer", "engineer"],
  ["Reviewer", "code-reviewer"],
  ["Designer", "product-designer"],
  ["Customer Support", "customer-support-specialist"],
])("without a remote directory the role %j finds the built-in %s", async (role, slug) => {
  const ctx = world.context();
  const settings = { ...world.settings, souls_directory_url: null };
  expect(await findRoleSoul({ ...ctx, settings }, role)).toEqual({
    markdown: expect.stringMatching(/^# \S/),
    source_url: `http://127.0.0.1:8000/api/souls-directory/board/${slug}`,
  });
});
