import { agents, jobs } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { startSyncFixture } from "../support/sync-fixture.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();

const start = () => startSyncFixture(world);
const synced = (body: { synced_agents: { agent_id: string }[] }) => body.synced_agents.map(({ agent_id }) => agent_id);

test("agents of all boards are synced oldest first, the main agent last", async () => {
  const fixture = await start();
  const { home, lead, worker, main, sync, addAgent, addBoard } = fixture;
  const other = await addAgent(await addBoard("Other"), "Other lead", true);
  const late = await addAgent(home.board_id, "Late");
  expect(synced((await sync()).body)).toEqual([lead, worker, other, late, main].map(({ id }) => id));
});

test("lead_only, board_id and include_main select agents, alone and together", async () => {
  const { home, lead, worker, main, sync, written, addAgent, addBoard } = await start();
  const board = await addBoard("Other");
  const other_lead = await addAgent(board, "Other lead", true);
  const other = await addAgent(board, "Other");
  const cases: [string, string[]][] = [
    ["lead_only=true", [lead.id, other_lead.id, main.id]],
    [`board_id=${board}`, [other_lead.id, other.id, main.id]],
    [`board_id=${board.toUpperCase()}&lead_only=1`, [other_lead.id, main.id]],
    ["include_main=false", [lead.id, worker.id, other_lead.id, other.id]],
    [`include_main=no&lead_only=yes&board_id=${home.board_id}`, [lead.id]],
  ];
  for (const [query, expected] of cases) {
    const { body } = await sync(query);
    expect([query, synced(body), body.include_main, body.main_updated]).toEqual([
      query,
      expected,
      expected.includes(main.id),
      expected.includes(main.id),
    ]);
  }
  expect(new Set(written().map((name) => name.split("/")[0]))).toEqual(
    new Set([lead, worker, main, other_lead, other].map(({ entry_id }) => entry_id)),
  );
});

test("a board without agents gives an empty result, and a board of another gateway an error that stops the sync", async () => {
  const fixture = await start();
  const { home, sync, written, calls, addBoard } = fixture;
  const other_fixture = await start();
  const empty = await addBoard("Empty");
  const { body } = await sync(`board_id=${empty}&include_main=false`);
  expect(body).toMatchObject({ synced_agents: [], errors: [], total_synced: 0, files_written: 0, gateway_id: home.gateway_id });
  for (const board_id of [other_fixture.home.board_id, crypto.randomUUID()]) {
    const refused = await sync(`board_id=${board_id}`);
    const error = "Board does not belong to this gateway.";
    expect([refused.status, refused.body.errors, refused.body.total_errors, refused.body.synced_agents]).toEqual([
      200,
      [{ agent_id: null, agent_name: null, board_id: null, error, message: error }],
      1,
      [],
    ]);
  }
  expect([written(), calls("config.patch")]).toEqual([[], []]);
});

test("overwrite replaces files that agents keep, and force_bootstrap writes BOOTSTRAP.md again", async () => {
  const { lead, worker, main, sync, file, write, written } = await start();
  const kept = ["USER.md", "MEMORY.md", "BOOTSTRAP.md"];
  const reset = () => {
    for (const agent of [lead, worker, main]) for (const name of [...kept, "LEARNINGS.md"]) write(agent, name, "Mine.");
  };
  reset();
  await sync("overwrite=true");
  expect(kept.map((name) => file(worker, name) === "Mine.")).toEqual([false, false, true]);
  expect([file(main, "USER.md") === "Mine.", file(main, "MEMORY.md")]).toEqual([false, "Mine."]);
  reset();
  await sync("force_bootstrap=true");
  expect(kept.map((name) => file(lead, name) === "Mine.")).toEqual([true, true, false]);
  expect([file(main, "BOOTSTRAP.md"), file(worker, "LEARNINGS.md")]).toEqual(["Mine.", "Mine."]);
  reset();
  await sync();
  expect(kept.map((name) => file(lead, name))).toEqual(["Mine.", "Mine.", "Mine."]);
  expect(written().some((name) => name.includes("LEARNINGS"))).toBe(false);
});

test("an empty file of an agent is kept like its other files, and a missing one is written", async () => {
  const { worker, sync, file, write, fake } = await start();
  write(worker, "USER.md", "");
  fake.host.files.get(worker.workspace)!.delete("MEMORY.md");
  await sync();
  expect([file(worker, "USER.md"), file(worker, "MEMORY.md") !== null]).toEqual(["", true]);
});

test("reset_sessions resets the session of every synced agent after the configuration, and no other session", async () => {
  const { fake, lead, worker, main, sync, calls, remove } = await start();
  remove(worker);
  const { body } = await sync("reset_sessions=true");
  expect([body.reset_sessions, body.total_synced, body.total_errors]).toEqual([true, 2, 1]);
  const resets = calls("sessions.reset").map(({ params }) => params);
  expect(new Set(resets)).toEqual(new Set([{ key: lead.session_key }, { key: main.session_key }]));
  const order = fake.calls.map(({ method }) => method);
  expect(order.lastIndexOf("config.patch")).toBeLessThan(order.indexOf("sessions.reset"));
});

test("a sync corrects an entry that has a different name or workspace on the host", async () => {
  const { fake, worker, install, sync, calls } = await start();
  install({ ...worker, name: "Somebody", workspace: "/elsewhere" });
  fake.host.files.set("/elsewhere", new Map([["TOOLS.md", { content: `AUTH_TOKEN=${worker.token}`, updatedAtMs: 1 }]]));
  fake.host.files.set(worker.workspace, new Map([["TOOLS.md", { content: `AUTH_TOKEN=${worker.token}`, updatedAtMs: 1 }]]));
  const { body } = await sync();
  expect([body.errors, calls("agents.update").map(({ params }) => params)]).toEqual([
    [],
    [{ agentId: worker.entry_id, name: worker.name, workspace: worker.workspace }],
  ]);
});

test("the heartbeats in the host's configuration are updated, and its other settings stay", async () => {
  const { fake, worker, lead, sync, calls } = await start();
  await world.db
    .update(agents)
    .set({ heartbeat_config: { every: "3h" } })
    .where(eq(agents.id, worker.id));
  await sync();
  const { raw } = calls("config.patch")[0]!.params as { raw: string };
  const list: { id: string; heartbeat?: object; name?: string; workspace?: string }[] = JSON.parse(raw).agents.list;
  expect(list.find(({ id }) => id === worker.entry_id)).toMatchObject({
    workspace: worker.workspace,
    name: worker.name,
    heartbeat: { every: "3h", target: "last", includeReasoning: false },
  });
  expect(list.find(({ id }) => id === lead.entry_id)).toMatchObject({ heartbeat: { every: "10m" } });
  expect(Object.keys(JSON.parse(raw))).toEqual(["agents"]);
  expect(fake.host.config.file()).toMatchObject({ gateway: { bind: "loopback" } });
});

test("the files show the profile of the user who requests the sync", async () => {
  const { home, worker, sync, file, write } = await start();
  await world.call("PATCH", "/api/v1/users/me", {
    token: home.owner.token,
    body: { preferred_name: "Zora", name: "Zora Neale" },
  });
  write(worker, "USER.md", "Old.");
  await sync("overwrite=true");
  expect(file(worker, "USER.md")).toContain("Zora");
});

test("a sync sends no message to agents or users, and leaves no job behind", async () => {
  const { home, sync, calls } = await start();
  await sync("rotate_tokens=true&reset_sessions=true");
  expect(calls("chat.send")).toEqual([]);
  const left = await world.db.select().from(jobs).where(eq(jobs.organization_id, home.organization_id));
  expect(left.filter(({ status }) => status !== "done")).toEqual([]);
  expect(left.every(({ secret_sealed }) => secret_sealed === null)).toBe(true);
});

test("an invalid parameter gives 422, an unknown or foreign gateway 404, and a body is ignored", async () => {
  const { home, sync } = await start();
  const other_fixture = await start();
  for (const query of ["include_main=maybe", "board_id=7", "rotate_tokens="]) {
    const { status, body } = await sync(query);
    expect([query, status, body.detail[0].loc]).toEqual([query, 422, ["query", query.split("=")[0]]]);
  }
  const path = (id: string) => `/api/v1/gateways/${id}/templates/sync?include_main=maybe`;
  for (const id of [other_fixture.home.gateway_id, crypto.randomUUID()])
    expect((await world.call("POST", path(id), { token: home.owner.token })).status).toBe(404);
  const raw = { token: home.owner.token, raw: "{not json" };
  expect((await world.call("POST", path(home.gateway_id).split("?")[0]!, raw)).status).toBe(200);
});
