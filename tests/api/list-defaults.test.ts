import { activity_events, tags } from "@board/core/schema/all-tables";
import { expect, test } from "vitest";
import { addTask } from "../support/task.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const home = await world.tenant("home");
const task = await addTask(world, home);

const read = (template: string) => {
  const path = template.replace("{b}", home.board_id).replace("{t}", task.id);
  const who = path.startsWith("/api/v1/agent/") ? { agent: home.lead.token } : { token: home.owner.token };
  return world.call("GET", path, who);
};

test.each([
  "/api/v1/boards/{b}/tasks/{t}/comments",
  "/api/v1/agent/boards/{b}/tasks/{t}/comments",
  "/api/v1/agents",
  "/api/v1/agent/agents",
  "/api/v1/gateways",
  "/api/v1/tags",
  "/api/v1/board-groups",
  "/api/v1/boards/{b}/approvals",
  "/api/v1/agent/boards/{b}/approvals",
])("the list %s has up to 200 items when no limit is sent", async (path) => {
  expect((await read(path)).body).toMatchObject({ limit: 200, offset: 0 });
  expect((await read(`${path}?limit=201`)).status).toBe(422);
});

test.each([
  ["/api/v1/boards", 20],
  ["/api/v1/boards/{b}/tasks", 50],
  ["/api/v1/boards/{b}/memory", 50],
  ["/api/v1/agent/boards", 50],
  ["/api/v1/activity", 50],
  ["/api/v1/organizations/me/members", 50],
  ["/api/v1/boards/{b}/webhooks", 50],
])("the list %s has up to %i items when no limit is sent", async (path, limit) => {
  expect((await read(path)).body).toMatchObject({ limit, offset: 0 });
});

test("a client that sends no limit gets all of 60 comments and 60 tags", async () => {
  const { organization_id, board_id } = home;
  const numbers = Array.from({ length: 60 }, (_, index) => index);
  const comment = { organization_id, board_id, task_id: task.id, event_type: "task.comment" };
  await world.db.insert(activity_events).values(numbers.map((index) => ({ ...comment, message: `${index}` })));
  await world.db
    .insert(tags)
    .values(numbers.map((index) => ({ organization_id, name: `Tag ${index}`, slug: `tag-${index}`, color: "00ff00" })));
  for (const path of ["/api/v1/boards/{b}/tasks/{t}/comments", "/api/v1/tags"]) {
    const { items, total } = (await read(path)).body;
    expect([items.length, total]).toEqual([60, 60]);
  }
  expect((await read("/api/tags")).body).toHaveLength(50);
});
