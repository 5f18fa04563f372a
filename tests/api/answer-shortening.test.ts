import { activity_events, tags, tasks } from "@board/core/schema/all-tables";
import type { TaskComment } from "@board/core/task/comment/comment";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import type { Tenant } from "../support/world.ts";

const BUDGET = 1_000_000;
const LONG = "x".repeat(100_000);

const world = await setupWorld({ limits: { answer_max_bytes: BUDGET } });

const read = (home: Tenant, path: string) => world.call("GET", path, { token: home.owner.token });
const boardPath = (home: Tenant) => `/api/v1/boards/${home.board_id}`;

async function createTask(home: Tenant, fields: object = {}): Promise<{ id: string }> {
  const created = await world.call("POST", `${boardPath(home)}/tasks`, {
    token: home.owner.token,
    body: { title: "Task", ...fields },
  });
  expect(created.status, created.text).toBe(200);
  return created.body;
}

async function addComments(home: Tenant, count: number, message: string): Promise<string> {
  const { id: task_id } = await createTask(home);
  const { organization_id, board_id } = home;
  const comment = { organization_id, board_id, task_id, event_type: "task.comment", message };
  await world.db.insert(activity_events).values(Array.from({ length: count }, () => comment));
  return `${boardPath(home)}/tasks/${task_id}/comments`;
}

test.each([
  ["without large texts takes one statement", "a text", 1],
  ["with large texts takes two statements", LONG, 2],
])("a page of comments %s", async (name, message, statements) => {
  const home = await world.tenant(name);
  const path = await addComments(home, 4, message);
  world.statements.length = 0;
  const list = await read(home, `${path}?limit=200`);
  expect(list.body.total).toBe(4);
  expect(world.statements.filter((statement) => statement.includes("activity_events"))).toHaveLength(statements);
});

test("a list that fits shows long texts whole, even on a page for many items", async () => {
  const home = await world.tenant("fits");
  const path = await addComments(home, 4, LONG);
  const list = await read(home, `${path}?limit=200`);
  expect(list.body.items.map(({ message }: TaskComment) => message)).toEqual([LONG, LONG, LONG, LONG]);
  expect(list.text).not.toContain("truncated_fields");
});

test("a list that is too large keeps every item and names the fields that were shortened", async () => {
  const home = await world.tenant("too large");
  const path = await addComments(home, 50, LONG);
  const list = await read(home, `${path}?limit=200`);
  expect(Buffer.byteLength(list.text)).toBeLessThanOrEqual(BUDGET);
  expect([list.body.total, list.body.limit, list.body.items.length]).toEqual([50, 200, 50]);
  for (const { message, content, truncated_fields } of list.body.items) {
    expect(truncated_fields).toEqual(["message", "content"]);
    expect([message, content].every((text) => /^x{1000,}/.test(text))).toBe(true);
  }
});

test("items that a large page shortens are shown in full on a smaller page", async () => {
  const home = await world.tenant("smaller page");
  const path = await addComments(home, 20, LONG);
  const pages = await Promise.all([0, 7, 19].map((offset) => read(home, `${path}?limit=1&offset=${offset}`)));
  for (const { body } of pages) {
    expect([body.total, body.items[0].message]).toEqual([20, LONG]);
    expect(body.items[0]).not.toHaveProperty("truncated_fields");
  }
});

test("a text that becomes longer as JSON is shortened by its size in the answer", async () => {
  const home = await world.tenant("grows");
  const path = await addComments(home, 3, "\u0001".repeat(90_000));
  const list = await read(home, path);
  expect(Buffer.byteLength(list.text)).toBeLessThanOrEqual(BUDGET);
  for (const { message, truncated_fields } of list.body.items) {
    expect(truncated_fields).toEqual(["message", "content"]);
    expect(message.replace(/\.\.\.$/, "").replaceAll("\u0001", "")).toBe("");
    expect(message.length).toBeGreaterThan(10_000);
  }
});

test("a text is never cut in the middle of a character", async () => {
  const home = await world.tenant("characters");
  const path = await addComments(home, 12, `a${"😀".repeat(40_000)}`);
  const list = await read(home, path);
  expect(list.body.items.every(({ message }: TaskComment) => /^a(?:😀)+(?:\.\.\.)?$/u.test(message))).toBe(true);
});

test("a task that is blocked is shown as blocked in a list that is too large", async () => {
  const home = await world.tenant("blocked");
  const done = await Promise.all(Array.from({ length: 8 }, () => createTask(home, { title: "done" })));
  await world.db.update(tasks).set({ status: "done" }).where(sql`board_id = ${home.board_id}`);
  const open = await createTask(home, { title: "open" });
  const dependencies = [...done, open].map(({ id }) => id);
  for (let n = 0; n < 15; n++)
    await createTask(home, { title: "dependent", description: LONG, depends_on_task_ids: dependencies });
  const list = await read(home, `${boardPath(home)}/tasks?limit=200`);
  expect(Buffer.byteLength(list.text)).toBeLessThanOrEqual(BUDGET);
  const dependents = list.body.items.filter(({ title }: { title: string }) => title === "dependent");
  expect(dependents).toHaveLength(15);
  for (const task of dependents) {
    expect(task).toMatchObject({ is_blocked: true, blocked_by_task_ids: [open.id], truncated_fields: ["description"] });
    expect(task.depends_on_task_ids).toEqual(dependencies);
  }
});

test("an array that is too large is cut, and X-Limit says how many items the answer has, so that a client can continue by offset", async () => {
  const home = await world.tenant("array");
  const { organization_id } = home;
  const rows = Array.from({ length: 2_500 }, (_, n) => ({
    organization_id,
    name: `${String(n).padStart(5, "0")} ${"n".repeat(190)}`,
    slug: `${n}-${"s".repeat(90)}`,
    color: "000000",
  }));
  await world.db.insert(tags).values(rows);
  const list = (query = "") =>
    world.call("GET", `/api/v1/agent/boards/${home.board_id}/tags${query}`, { agent: home.worker.token });
  const names: string[] = [];
  while (names.length < rows.length) {
    const part = await list(`?offset=${names.length}`);
    expect(Buffer.byteLength(part.text)).toBeLessThanOrEqual(BUDGET);
    const isEnd = names.length + part.body.length === rows.length;
    expect(part.headers.get("x-limit")).toBe(isEnd ? null : String(part.body.length));
    names.push(...part.body.map(({ name }: { name: string }) => name));
  }
  expect(names).toEqual(rows.map(({ name }) => name));
  expect((await list("?limit=2&offset=1")).body.map(({ name }: { name: string }) => name)).toEqual(names.slice(1, 3));
});

test("a snapshot that is too large shows the newest tasks and names the list that ends early", async () => {
  const home = await world.tenant("snapshot");
  await world.db.execute(sql`insert into tasks (board_id, title, created_at)
    select ${home.board_id}::uuid, 'task ' || n, now() + n * interval '1 second' from generate_series(1, 3000) as n`);
  const snapshot = await read(home, `${boardPath(home)}/snapshot`);
  expect(Buffer.byteLength(snapshot.text)).toBeLessThanOrEqual(BUDGET);
  const { truncated_fields, tasks: shown, agents } = snapshot.body;
  expect([truncated_fields, agents.length, shown.length > 500]).toEqual([["tasks"], 2, true]);
  const expected = Array.from({ length: shown.length }, (_, n) => `task ${3_000 - n}`);
  expect(shown.map(({ title }: { title: string }) => title)).toEqual(expected);
});

test("a single task with large custom values is shortened, and names the field", async () => {
  const home = await world.tenant("single");
  const keys = Array.from({ length: 12 }, (_, n) => `field_${n}`);
  for (const field_key of keys) {
    const body = { field_key, field_type: "text_long", board_ids: [home.board_id], default_value: LONG };
    await world.call("POST", "/api/v1/organizations/me/custom-fields", { token: home.owner.token, body });
  }
  const created = await createTask(home);
  const task = await read(home, `${boardPath(home)}/tasks/${created.id}`);
  expect([task.status, Buffer.byteLength(task.text) <= BUDGET]).toEqual([200, true]);
  expect(task.body.truncated_fields).toEqual(["custom_field_values"]);
  expect(Object.values(task.body.custom_field_values)).toContain(LONG);
});

test("a body with a hundred thousand mistakes is refused with a bounded list of problems", async () => {
  const home = await world.tenant("mistakes");
  const rubric_scores = Object.fromEntries(Array.from({ length: 80_000 }, (_, n) => [n, ""]));
  const body = { action_type: "deploy", description: "Why", rubric_scores };
  const refused = await world.call("POST", `${boardPath(home)}/approvals`, { token: home.owner.token, body });
  expect([refused.status, Buffer.byteLength(refused.text) < BUDGET]).toEqual([422, true]);
  expect(refused.body.detail).toHaveLength(1_000);
});
