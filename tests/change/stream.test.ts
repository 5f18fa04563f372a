import { organization_board_access } from "@board/core/schema/all-tables";
import { expect, test } from "vitest";
import { setupTenants } from "../support/gateway-fixture.ts";
import { listen } from "../support/sse.ts";
import { addTask } from "../support/task.ts";
import { openReader } from "./reader.ts";

const { world, home } = await setupTenants({ streams: { poll_ms: 10 } });
const STREAM = "/api/v1/changes/stream";

const follow = (by: { token?: string; agent?: string; last?: string | undefined }, query = "") =>
  listen((target, init) => world.app.request(target, init), `${STREAM}${query}`, by);

/** Adds a member who may only read the board of the tenant. */
async function addReader() {
  const person = await world.person(`reader of ${home.board_id}`);
  const organization_member_id = await world.join(person, home.organization_id, "member");
  await world.db
    .insert(organization_board_access)
    .values({ organization_member_id, board_id: home.board_id, can_read: true, can_write: false });
  return { token: person.token };
}

test("a stream of changes starts now, filters by type, and resumes after its last event", async () => {
  const owner = { token: home.owner.token };
  await addTask(world, home);
  const first = await follow(owner, "?types=task,board");
  await world.call("POST", `/api/v1/boards/${home.board_id}/memory`, { ...owner, body: { content: "No task" } });
  const task = await addTask(world, home);
  const [event] = await first.waitForEvents(1);
  expect(event).toEqual({
    id: event!.data.cursor,
    event: "change",
    data: expect.objectContaining({ type: "task", action: "created", id: task.id }),
  });
  await first.close();
  const missed = await addTask(world, home);
  const second = await follow({ ...owner, last: event!.id }, "?types=task");
  expect((await second.waitForEvents(1)).map(({ data }) => data.id)).toEqual([missed.id]);
  await second.close();
});

test("a stream continues after the cursor of the feed", async () => {
  const worker = { agent: home.worker.token };
  const reader = await openReader(world, worker, "types=task");
  const task = await addTask(world, home);
  const stream = await follow(worker, `?types=task&cursor=${reader.cursor}`);
  const [event] = await stream.waitForEvents(1);
  expect(event!.data.id).toBe(task.id);
  // The feed also continues after an event of the stream.
  const later = await addTask(world, home);
  const answer = await world.call("GET", `/api/v1/changes?types=task&cursor=${event!.id}`, worker);
  expect(answer.body.changes.map(({ id }: { id: string }) => id)).toEqual([later.id]);
  await stream.close();
});

test("a stream with a cursor of another organization, or unknown types, is refused before it starts", async () => {
  const other = await world.tenant("other");
  const { cursor } = await openReader(world, { token: other.owner.token });
  const owner = { token: home.owner.token };
  for (const query of [`?cursor=${cursor}`, "?cursor=nonsense", "?types=task,song"]) {
    const answer = await world.call("GET", `${STREAM}${query}`, owner);
    expect([query, answer.status]).toEqual([query, 422]);
  }
});

test("a member sees only the changes of readable boards, and no changes of main agents", async () => {
  const member = await addReader();
  const reader = await openReader(world, member);
  const all = await openReader(world, { token: home.owner.token });
  const second = await world.call("POST", "/api/v1/boards", {
    token: home.owner.token,
    body: { name: "Hidden", description: "Hidden", gateway_id: home.gateway_id },
  });
  await world.call("PATCH", `/api/v1/gateways/${home.gateway_id}`, { token: home.owner.token, body: { name: "Renamed" } });
  const task = await addTask(world, home);
  await addTask(world, { board_id: second.body.id });
  expect((await reader.read()).map(({ type, id }) => [type, id])).toEqual([["task", task.id]]);
  const seen = await all.read();
  expect(seen.filter(({ board_id }) => board_id === second.body.id)).toHaveLength(2);
  expect(seen.filter(({ board_id }) => board_id === null).map(({ type }) => type)).toContain("agent");
});

test("a member who could read only one board still gets the event of its removal", async () => {
  const member = await addReader();
  const reader = await openReader(world, member);
  const ofBoard = await openReader(world, member, `board_id=${home.board_id}`);
  await addTask(world, home);
  const removed = await world.call("DELETE", `/api/v1/boards/${home.board_id}`, { token: home.owner.token });
  expect(removed.status).toBe(200);
  const expected = ["task created", "board removed", "task removed", "agent removed", "agent removed"];
  expect((await reader.lines()).toSorted()).toEqual(expected.toSorted());
  expect((await ofBoard.lines()).toSorted()).toEqual(expected.toSorted());
});
