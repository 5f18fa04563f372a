import { hashToken } from "@board/core/agent/token";
import type { AuditEvent } from "@board/core/audit/audit";
import { agents, jobs } from "@board/core/schema/all-tables";
import { deliver } from "@board/api/work/handlers";
import { and, eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { isAccepted } from "../support/http.ts";
import { startSyncFixture, type SyncAgent, type SyncFixture } from "../support/sync-fixture.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();

const start = () => startSyncFixture(world);
const advice = ({ name }: SyncAgent) => `(agent: ${name}, run with rotate_tokens=true)`;
const unreadable = (agent: SyncAgent) => `unable to read AUTH_TOKEN from TOOLS.md ${advice(agent)}`;
const mismatch = (agent: SyncAgent) => `AUTH_TOKEN in TOOLS.md does not match ${advice(agent)}`;
const entry = (agent: SyncAgent, board_id: string | null, error: string) => ({
  agent_id: agent.id,
  agent_name: agent.name,
  board_id,
  error,
  message: error,
});
const set = (agent: SyncAgent, values: Partial<typeof agents.$inferInsert>) =>
  world.db.update(agents).set(values).where(eq(agents.id, agent.id));

describe("an unusable token is an error, and nothing of the agent is written", () => {
  test.each<[string, (fixture: SyncFixture) => void, (agent: SyncAgent) => string]>([
    ["its entry is missing on the host", ({ remove, worker }) => remove(worker), unreadable],
    ["the host has no TOOLS.md", ({ fake, worker }) => fake.host.files.get(worker.workspace)!.delete("TOOLS.md"), unreadable],
    ["TOOLS.md holds no token", ({ write, worker }) => write(worker, "TOOLS.md", "# AUTH_TOKEN=x\nAUTH_TOKEN=\n"), unreadable],
    ["the host refuses to read TOOLS.md", ({ fake }) => fake.failNext("agents.files.get", { message: "EACCES" }, 99), unreadable],
    [
      "the token belongs to another agent",
      ({ write, worker, lead }) => write(worker, "TOOLS.md", `AUTH_TOKEN=${lead.token}`),
      mismatch,
    ],
  ])("the agent is not written when %s", async (_why, spoil, text) => {
    const fixture = await start();
    const { home, lead, worker, main, sync, written, calls } = fixture;
    spoil(fixture);
    const { status, body } = await sync();
    const expected = entry(worker, home.board_id, text(worker));
    expect(status).toBe(200);
    expect(body.errors).toContainEqual(expected);
    expect([written(worker), calls("agents.create")]).toEqual([[], []]);
    if (body.errors.length > 1) return;
    expect([body.errors, body.total_errors, body.agents_skipped, body.agents_updated, body.main_updated]).toEqual([
      [expected],
      1,
      1,
      1,
      true,
    ]);
    expect(body.synced_agents.map(({ agent_id }: { agent_id: string }) => agent_id)).toEqual([lead.id, main.id]);
    expect(calls("config.patch")).toHaveLength(1);
  });

  test("a sync writes no files of an agent that has no token hash to compare with", async () => {
    const { home, worker, sync, written } = await start();
    await set(worker, { agent_token_hash: null, agent_token_lookup: null });
    expect([(await sync()).body.errors, written(worker)]).toEqual([[entry(worker, home.board_id, mismatch(worker))], []]);
  });
});

test("bullets, backticks and spaces around the token line are ignored, and the last line wins", async () => {
  const { worker, sync, write, tokenOnHost } = await start();
  write(worker, "TOOLS.md", `AUTH_TOKEN=old\n\n  - \`AUTH_TOKEN=${worker.token}\`  \nBASE_URL=x\n`);
  expect((await sync()).body.errors).toEqual([]);
  expect(tokenOnHost(worker)).toBe(worker.token);
});

test("an imported agent's token is recognized by its PBKDF2 hash, even before the agent's first request", async () => {
  const { worker, sync, written } = await start();
  const forms = { agent_token_hash: await hashToken(worker.token), agent_token_lookup: null };
  await set(worker, forms);
  expect((await sync()).body.errors).toEqual([]);
  expect(written(worker).length).toBeGreaterThan(0);
  await set(worker, { ...forms, agent_token_hash: "pbkdf2_sha256$odd" });
  expect((await sync()).body.errors).toMatchObject([{ error: mismatch(worker) }]);
});

test("rotation gives every selected agent a new token, whatever the state of the old one, and no other agent", async () => {
  const { home, lead, worker, main, sync, write, remove, tokenOnHost } = await start();
  write(lead, "TOOLS.md", "nothing");
  await set(worker, { agent_token_hash: null, agent_token_lookup: null });
  remove(worker);
  const { body } = await sync(`rotate_tokens=true&include_main=false&board_id=${home.board_id}`);
  expect([body.errors, body.total_synced]).toEqual([[], 2]);
  for (const agent of [lead, worker])
    expect([await isAccepted(world, tokenOnHost(agent)!), await isAccepted(world, agent.token)]).toEqual([true, false]);
  expect([tokenOnHost(main), await isAccepted(world, main.token)]).toEqual([main.token, true]);
  const audit = await world.call("GET", "/api/v1/audit?action=agent.token_rotated", { token: home.owner.token });
  const rotated: string[] = audit.body.items.map(({ actor, target }: AuditEvent) => `${target.id} by a ${actor.type}`);
  expect(new Set(rotated)).toEqual(new Set([lead, worker].map(({ id }) => `${id} by a user`)));
});

test("the old token works until the host has stored the new one, and stays valid if the host does not store it", async () => {
  const { fake, worker, sync, tokenOnHost } = await start();
  fake.faults.delays_ms = { "agents.files.set": 200 };
  const syncing = sync("rotate_tokens=true&include_main=false");
  while (tokenOnHost(worker) === worker.token) await new Promise((resolve) => setTimeout(resolve, 5));
  const meanwhile = await isAccepted(world, worker.token);
  await syncing;
  expect([meanwhile, await isAccepted(world, worker.token)]).toEqual([true, false]);
  const token = tokenOnHost(worker)!;
  fake.faults.delays_ms = {};
  fake.failNext("agents.files.set", { message: "disk full" }, 99);
  const { body } = await sync("rotate_tokens=true");
  expect(body.errors.map(({ error }: { error: string }) => error)).toEqual(["disk full", "disk full", "disk full"]);
  expect([tokenOnHost(worker), await isAccepted(world, token)]).toEqual([token, true]);
});

describe("the main agent in a sync", () => {
  test("a missing main agent is created and provisioned on the host with its own token", async () => {
    const { home, main, sync, tokenOnHost, remove } = await start();
    remove(main);
    await world.db.delete(agents).where(eq(agents.id, main.id));
    const { body } = await sync();
    expect([body.errors, body.main_updated, body.total_synced]).toEqual([[], true, 3]);
    const [row] = await world.db.select().from(agents).where(eq(agents.openclaw_session_id, main.session_key));
    expect(row).toMatchObject({ gateway_id: home.gateway_id, board_id: null, status: "ready" });
    const token = tokenOnHost(main)!;
    expect(await isAccepted(world, token)).toBe(true);
    // The job that was created with the main agent writes the same token.
    await world.drain();
    expect([tokenOnHost(main), await isAccepted(world, token)]).toEqual([token, true]);
  });

  test("a main agent without a hash or an entry on the host gets a new token, and otherwise keeps it", async () => {
    const { main, lead, sync, tokenOnHost, remove, file } = await start();
    await sync();
    expect(tokenOnHost(main)).toBe(main.token);
    await set(main, { agent_token_hash: null, agent_token_lookup: null });
    expect((await sync()).body).toMatchObject({ errors: [], main_updated: true });
    const second = tokenOnHost(main)!;
    expect([second === main.token, await isAccepted(world, second)]).toEqual([false, true]);
    remove(main);
    expect((await sync()).body).toMatchObject({ errors: [], main_updated: true });
    const third = tokenOnHost(main)!;
    expect([third === second, await isAccepted(world, third), await isAccepted(world, second)]).toEqual([false, true, false]);
    expect([file(main, "USER.md") !== null, tokenOnHost(lead)]).toEqual([true, lead.token]);
  });

  test("the main agent has its entry even when it is not synced", async () => {
    const { main, sync, remove, calls, written } = await start();
    remove(main);
    const { body } = await sync("include_main=false");
    expect([body.errors, body.main_updated, body.include_main, written(main)]).toEqual([[], false, false, []]);
    expect(calls("agents.create").map(({ params }) => params)).toEqual([{ name: main.entry_id, workspace: main.workspace }]);
  });

  test("an unreadable token is an error for the main agent as for any other agent", async () => {
    const { main, sync, write } = await start();
    write(main, "TOOLS.md", "nothing");
    const { status, body } = await sync();
    expect([status, body.errors, body.main_updated, body.agents_skipped]).toEqual([
      200,
      [entry(main, null, unreadable(main))],
      false,
      0,
    ]);
  });
});

describe("concurrent work on the same agent", () => {
  const makeAgent = async ({ home }: SyncFixture, name: string) => {
    const body = { name, board_id: home.board_id };
    const made = (await world.call("POST", "/api/v1/agents", { token: home.owner.token, body })).body;
    return { id: made.id as string, token: made.auth_token as string, session_key: made.openclaw_session_id as string };
  };
  const tokenOf = ({ fake }: SyncFixture, { id }: { id: string }) =>
    /^AUTH_TOKEN=(.*)$/m.exec(fake.host.files.get(`/srv/agents/workspace-mc-${id}`)?.get("TOOLS.md")?.content ?? "")?.[1] ?? "";

  test("a rotated token is not undone by an earlier provisioning job with the first token", async () => {
    const fixture = await start();
    const made = await makeAgent(fixture, "Newcomer");
    expect((await fixture.sync("rotate_tokens=true&include_main=false")).body.errors).toEqual([]);
    const rotated = tokenOf(fixture, made);
    expect([await isAccepted(world, rotated), await isAccepted(world, made.token)]).toEqual([true, false]);
    await world.drain();
    const [job] = await world.db
      .select()
      .from(jobs)
      .where(and(eq(jobs.kind, "agent.provision"), eq(jobs.organization_id, fixture.home.organization_id)));
    expect(job!.status).toBe("done");
    expect([tokenOf(fixture, made), await isAccepted(world, rotated), await isAccepted(world, made.token)]).toEqual([
      rotated,
      true,
      false,
    ]);
  });

  test("a sync processes other agents while it waits for a job that is still provisioning one of its agents", async () => {
    const fixture = await start();
    const { fake, lead, sync, written } = fixture;
    const made = await makeAgent(fixture, "Newcomer");
    const [job] = await world.db
      .select()
      .from(jobs)
      .where(and(eq(jobs.kind, "agent.provision"), eq(jobs.status, "queued")));
    fake.faults.delays_ms = { "agents.files.set": 300 };
    const provisioning = deliver(world.context(), job!.id);
    while (!fake.calls.some(({ method }) => method === "agents.create")) await new Promise((resolve) => setTimeout(resolve, 5));
    const { body } = await sync("rotate_tokens=true&include_main=false");
    await provisioning;
    expect([body.errors, body.total_synced]).toEqual([[], 3]);
    const order = written().map((name) => name.split("/")[0]);
    const entry_id = made.session_key.split(":")[1]!;
    expect(order.indexOf(lead.entry_id)).toBeLessThan(order.lastIndexOf(entry_id));
    expect(written().filter((name) => name === `${entry_id}/TOOLS.md`)).toHaveLength(2);
    expect([await isAccepted(world, tokenOf(fixture, made)), await isAccepted(world, made.token)]).toEqual([true, false]);
  });

  test("two rotations at once leave every agent with the token that is on its host", async () => {
    const { fake, lead, worker, main, sync, tokenOnHost } = await start();
    fake.faults.delays_ms = { "agents.files.set": 20 };
    const answers = await Promise.all([1, 2, 3].map(() => sync("rotate_tokens=true")));
    for (const { body } of answers) expect([body.errors, body.total_synced]).toEqual([[], 3]);
    for (const agent of [lead, worker, main]) expect(await isAccepted(world, tokenOnHost(agent)!)).toBe(true);
  });
});

test("no token is in a log line", async () => {
  const { fake, lead, worker, main, sync, tokenOnHost } = await start();
  fake.failNext("agents.files.set", { message: "disk full" });
  await sync("rotate_tokens=true");
  const tokens = [lead, worker, main].flatMap((agent) => [agent.token, tokenOnHost(agent)!]);
  expect(tokens.filter((token) => JSON.stringify(world.log).includes(token))).toEqual([]);
});
