import { changes } from "@board/core/schema/all-tables";
import { expect, test } from "vitest";
import { requestApproval } from "../support/approval.ts";
import { addBoard } from "../support/board.ts";
import { setupTenants } from "../support/gateway-fixture.ts";
import { actAsMainAgent } from "../support/main-agent.ts";
import type { Tenant } from "../support/world.ts";
import { openReader } from "./reader.ts";

const { world, home } = await setupTenants();
const tasksOf = ({ board_id }: Tenant) => `/api/v1/boards/${board_id}/tasks`;

async function send(method: string, path: string, body?: object) {
  const answer = await world.call(method, path, { token: home.owner.token, body });
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.body;
}

test("a feed without a cursor starts now, and its cursor returns each later change once and in order", async () => {
  const owner = { token: home.owner.token };
  const start = await world.call("GET", "/api/v1/changes", owner);
  expect(start.body).toEqual({ changes: [], cursor: expect.any(String), has_more: false });
  const reader = await openReader(world, owner);
  const task = await send("POST", tasksOf(home), { title: "Sweep" });
  await send("PATCH", `${tasksOf(home)}/${task.id}`, { title: "Mop" });
  await send("DELETE", `${tasksOf(home)}/${task.id}`);
  const read = await reader.read();
  const me = await world.call("GET", "/api/v1/users/me", owner);
  const entry = {
    type: "task",
    id: task.id,
    board_id: home.board_id,
    task_id: task.id,
    at: expect.any(String),
    cursor: expect.any(String),
    actor: { type: "user", id: me.body.id },
  };
  expect(read).toEqual(["created", "updated", "removed"].map((action) => ({ ...entry, action })));
  expect(await reader.read()).toEqual([]);
});

test("a feed has the changes of every type, and names who made them", async () => {
  const owner = { token: home.owner.token };
  const reader = await openReader(world, owner);
  const task = await send("POST", tasksOf(home), { title: "Sweep" });
  await world.call("POST", `/api/v1/agent/boards/${home.board_id}/tasks/${task.id}/comments`, {
    agent: home.worker.token,
    body: { content: "On it" },
  });
  await requestApproval(world, home, { task_ids: [task.id] });
  await send("POST", `/api/v1/boards/${home.board_id}/memory`, { content: "Remember" });
  await send("PATCH", `/api/v1/agents/${home.worker.id}`, { name: "Second" });
  await send("PATCH", `/api/v1/boards/${home.board_id}`, { name: "Renamed" });
  const lines = (await reader.read()).map(({ type, action, actor }) => `${type} ${action} by ${actor.type}`);
  expect(new Set(lines)).toEqual(
    new Set([
      "task created by user",
      "comment created by agent",
      "approval created by agent",
      "memory created by user",
      "agent updated by agent",
      "agent updated by user",
      "board updated by user",
    ]),
  );
});

test("the removal of a board has entries for the board, its tasks, its agents and its approvals", async () => {
  const reader = await openReader(world, { token: home.owner.token });
  const task = await send("POST", tasksOf(home), { title: "Sweep" });
  await requestApproval(world, home, { task_ids: [task.id] });
  await reader.read();
  await send("DELETE", `/api/v1/boards/${home.board_id}`);
  const lines = await reader.lines();
  expect(lines[0]).toBe("board removed");
  expect(lines.toSorted()).toEqual(["agent removed", "agent removed", "approval removed", "board removed", "task removed"]);
});

test("changes of another organization are never in a feed, and its cursors are refused", async () => {
  const other = await world.tenant("other");
  const reader = await openReader(world, { token: home.owner.token });
  const theirs = await openReader(world, { token: other.owner.token });
  await world.call("POST", tasksOf(other), { token: other.owner.token, body: { title: "Theirs" } });
  expect(await reader.read()).toEqual([]);
  expect(await theirs.lines()).toEqual(["task created"]);
  for (const cursor of [theirs.cursor, "nonsense", "!"]) {
    const answer = await world.call("GET", `/api/v1/changes?cursor=${cursor}`, { token: home.owner.token });
    expect([answer.status, answer.body.detail]).toEqual([
      422,
      "Unknown cursor: read the lists again, and start without a cursor.",
    ]);
  }
  const foreign = await world.call("GET", `/api/v1/changes?board_id=${other.board_id}`, { token: home.owner.token });
  expect(foreign.status).toBe(404);
});

test("a cursor older than the kept changes gets 410, and an empty cursor starts with the oldest change", async () => {
  const owner = { token: home.owner.token };
  const reader = await openReader(world, owner);
  await send("POST", tasksOf(home), { title: "Old" });
  // All entries are aged, because a young one would protect the entries after it.
  await world.db.update(changes).set({ at: new Date(Date.now() - 8 * 86_400_000) });
  const { runScheduled } = await import("@board/api/work/schedules");
  await runScheduled(world.context(), "retention");
  const answer = await world.call("GET", `/api/v1/changes?cursor=${reader.cursor}`, owner);
  expect([answer.status, answer.body.detail]).toEqual([
    410,
    "Changes after this cursor are no longer kept: read the lists again, and start without a cursor.",
  ]);
  await send("POST", tasksOf(home), { title: "New" });
  const kept = await world.call("GET", "/api/v1/changes?cursor=", owner);
  expect(kept.body.changes.map(({ type, action }: { type: string; action: string }) => `${type} ${action}`)).toEqual([
    "task created",
  ]);
});

test("an agent reads the changes of its board", async () => {
  const reader = await openReader(world, { agent: home.worker.token });
  await send("POST", tasksOf(home), { title: "Sweep" });
  const lines = await reader.lines();
  expect(lines).toContain("task created");
});

test("a main agent reads the changes of the boards of its gateway, and of no other board", async () => {
  const { board_id } = await addBoard(world, home);
  const elsewhere = await send("POST", "/api/v1/boards", { name: "Elsewhere", description: "Elsewhere", gateway: "pull" });
  const agent = (await actAsMainAgent(world, home.gateway_id)).token;
  const reader = await openReader(world, { agent });
  for (const id of [home.board_id, elsewhere.id, board_id]) await send("POST", `/api/v1/boards/${id}/tasks`, { title: "Sweep" });
  const read = (await reader.read()).map((change) => [change.type, change.action, change.board_id]);
  expect(read).toEqual([home.board_id, board_id].map((id) => ["task", "created", id]));
  const foreign = await world.call("GET", `/api/v1/changes?cursor=&board_id=${elsewhere.id}`, { agent });
  expect(foreign.status).toBe(403);
});

test("a budget has changes when it is created, when its task is renamed, when it is used up, and when it is removed with its task", async () => {
  const member = await world.member("budget-reader", home, "member", { write: true });
  const reader = await openReader(world, { token: member.token }, "types=budget");
  const read = async () =>
    (await reader.read()).map(({ action, id, board_id, task_id }) => [action, id, board_id, task_id] as const);
  const task = await send("POST", tasksOf(home), { title: "Sweep", budget: { total_tokens: 10 } });
  const [{ id }] = (await send("GET", `/api/v1/budgets?scope_id=${task.id}`)).items;
  const of = (action: string) => [[action, id, home.board_id, task.id]];
  expect(await read()).toEqual(of("created"));
  await send("PATCH", `${tasksOf(home)}/${task.id}`, { title: "Mop" });
  expect(await read()).toEqual(of("updated"));
  await world.call("POST", "/api/v1/agent/usage", {
    agent: home.worker.token,
    body: { entries: [{ key: "spent", task_id: task.id, input_tokens: 10 }] },
  });
  expect(await read()).toEqual(of("updated"));
  await send("DELETE", `${tasksOf(home)}/${task.id}`);
  expect(await read()).toEqual(of("removed"));
});
