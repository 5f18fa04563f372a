import { expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { FIELDS } from "../support/custom-field.ts";
import { setupTenants } from "../support/gateway-fixture.ts";
import { addTask } from "../support/task.ts";
import { openReader } from "./reader.ts";

const { world, home } = await setupTenants();

test("every change by a person or an agent names who made it, for every operation", async () => {
  const owner = { token: home.owner.token };
  const worker = { agent: home.worker.token };
  const board = `/api/v1/boards/${home.board_id}`;
  const send = async (method: string, path: string, by: object, body?: object) => {
    const answer = await world.call(method, path, { ...by, body });
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  };
  const task = await addTask(world, home);
  const linked = await addTask(world, home);
  const other = await addBoard(world, home);
  // The first request of an agent records its presence, which is a change too.
  await send("GET", `/api/v1/agent/boards/${home.board_id}/tasks`, worker);
  await send("GET", `/api/v1/agent/boards/${home.board_id}/tasks`, { agent: home.lead.token });
  const tag = await send("POST", "/api/v1/tags", owner, { name: "One" });
  await send("PATCH", `${board}/tasks/${task.id}`, owner, { tag_ids: [tag.id] });
  const field = await send("POST", FIELDS, owner, { field_key: "place", field_type: "text", board_ids: [other.board_id] });
  const group = await send("POST", "/api/v1/board-groups", owner, { name: "Group" });
  await send("PATCH", board, owner, { board_group_id: group.id });
  const reader = await openReader(world, owner);

  const operations: [name: string, by: "user" | "agent", run: () => Promise<unknown>][] = [
    ["create a task", "user", () => send("POST", `${board}/tasks`, owner, { title: "New" })],
    [
      "create a task as lead",
      "agent",
      () => send("POST", `/api/v1/agent/boards/${home.board_id}/tasks`, { agent: home.lead.token }, { title: "Led" }),
    ],
    ["change a task", "user", () => send("PATCH", `${board}/tasks/${task.id}`, owner, { title: "Mop" })],
    ["rename a tag", "user", () => send("PATCH", `/api/v1/tags/${tag.id}`, owner, { name: "Two" })],
    ["remove a tag", "user", () => send("DELETE", `/api/v1/tags/${tag.id}`, owner)],
    ["bind a field", "user", () => send("PATCH", `${FIELDS}/${field.id}`, owner, { board_ids: [home.board_id] })],
    ["remove a field", "user", () => send("DELETE", `${FIELDS}/${field.id}`, owner)],
    ["take a task", "agent", () => send("POST", "/api/v1/agent/tasks/next", worker, {})],
    [
      "comment",
      "agent",
      () => send("POST", `/api/v1/agent/boards/${home.board_id}/tasks/${task.id}/comments`, worker, { content: "On it" }),
    ],
    ["comment as a person", "user", () => send("POST", `${board}/tasks/${task.id}/comments`, owner, { content: "Well" })],
    [
      "ask for approval",
      "agent",
      () => send("POST", `/api/v1/agent/boards/${home.board_id}/approvals`, worker, { action_type: "Do", description: "Why" }),
    ],
    [
      "ask for approval of a task",
      "agent",
      () =>
        send("POST", `/api/v1/agent/boards/${home.board_id}/approvals`, worker, {
          action_type: "Do",
          description: "Why",
          task_ids: [linked.id],
        }),
    ],
    ["write memory", "agent", () => send("POST", `/api/v1/agent/boards/${home.board_id}/memory`, worker, { content: "Note" })],
    ["write a chat message", "user", () => send("POST", `${board}/memory`, owner, { content: "Hello", tags: ["chat"] })],
    ["remove a linked task", "user", () => send("DELETE", `${board}/tasks/${linked.id}`, owner)],
    ["create an agent", "user", () => send("POST", "/api/v1/agents", owner, { name: "Third", board_id: home.board_id })],
    ["rename an agent", "user", () => send("PATCH", `/api/v1/agents/${home.worker.id}`, owner, { name: "Second" })],
    [
      "change the heartbeat of a group",
      "user",
      () => send("POST", `/api/v1/board-groups/${group.id}/heartbeat`, owner, { every: "7m" }),
    ],
    ["check in an agent", "user", () => send("POST", `/api/v1/agents/${other.agent.id}/heartbeat`, owner, { status: "online" })],
    ["create a budget", "user", () => send("POST", "/api/v1/budgets", owner, { scope: "organization", limit: { runs: 9 } })],
    ["change a budget", "user", async () => send("PATCH", await budgetPath(), owner, { warn_at: 0.5 })],
    ["rename the organization", "user", () => send("PATCH", "/api/v1/organizations/me", owner, { name: "Renamed" })],
    ["remove a budget", "user", async () => send("DELETE", await budgetPath(), owner)],
    [
      "create a task with a budget as lead",
      "agent",
      () =>
        send(
          "POST",
          `/api/v1/agent/boards/${home.board_id}/tasks`,
          { agent: home.lead.token },
          { title: "Led", budget: { cost_usd: "1" } },
        ),
    ],
    ["remove an agent", "user", () => send("DELETE", `/api/v1/agents/${home.worker.id}`, owner)],
    ["change a board", "user", () => send("PATCH", board, owner, { name: "Renamed" })],
    ["remove a group", "user", () => send("DELETE", `/api/v1/board-groups/${group.id}`, owner)],
    [
      "create a board",
      "user",
      () => send("POST", "/api/v1/boards", owner, { name: "New", description: "New", gateway_id: home.gateway_id }),
    ],
    ["remove a board", "user", () => send("DELETE", board, owner)],
  ];
  const budgetPath = async () => `/api/v1/budgets/${(await send("GET", "/api/v1/budgets", owner)).items[0].id}`;
  const found: string[] = [];
  for (const [name, , run] of operations) {
    await run();
    const actors = new Set((await reader.read()).map(({ actor }) => actor.type));
    found.push(`${name}: ${[...actors].join(" and ") || "no entry"}`);
  }
  expect(found).toEqual(operations.map(([name, by]) => `${name}: ${by}`));
});
