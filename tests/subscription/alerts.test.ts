import { BoardEvent } from "@board/core/context/event-body";
import { scheduled } from "@board/api/work/schedules";
import { expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { accept, reply } from "../support/receiver.ts";
import { BASE, setupSubscriptions } from "./subscription-fixture.ts";

const { world, home, receiver, send, subscribe, deliveriesOf } = await setupSubscriptions();

const DAY = 86_400_000;
const other = await addBoard(world, home, "Other");
const grace = await world.person("grace", { name: "Grace" });
await world.join(grace, home.organization_id, "member", { read: true });
const grace_id = (await world.call("GET", "/api/v1/users/me", { token: grace.token })).body.id;

/** Subscribes the organization, its board and another board to events, and returns a function that shows what each of them got. */
async function subscribeAll(event_types: string[]) {
  const bases = { organization: BASE, board: baseOf(home.board_id), other: baseOf(other.board_id) };
  for (const [name, base] of Object.entries(bases)) await subscribe({ url: `${receiver.url}/${name}`, event_types }, base);
  return async () => {
    await world.drain();
    const got = Object.keys(bases).map((name) => [name, receiver.messages.filter(({ path }) => path.endsWith(name))] as const);
    for (const { json } of receiver.messages) BoardEvent.parse(json.data);
    return Object.fromEntries(got.map(([name, messages]) => [name, messages.map(({ json }) => json.data)]));
  };
}
const baseOf = (board_id: string) => `/api/v1/boards/${board_id}/subscriptions`;

test("a mention in a comment reaches subscriptions of its board and of the organization, with ids and without the text", async () => {
  const received = await subscribeAll(["mention"]);
  const task = await send("POST", `/api/v1/boards/${home.board_id}/tasks`, { title: "Paint" });
  const path = `/api/v1/boards/${home.board_id}/tasks/${task.id}/comments`;
  await world.call("POST", path, { agent: home.lead.token, body: { content: "@grace zanzibar, @nobody" } });
  const { organization, board, other } = await received();
  expect(organization).toMatchObject([
    {
      type: "mention",
      board_id: home.board_id,
      actor: { type: "agent", id: home.lead.id },
      subject: { type: "task", id: task.id },
      user_ids: [grace_id],
    },
  ]);
  expect([board, other]).toEqual([organization, []]);
  expect(JSON.stringify(receiver.messages)).not.toContain("zanzibar");
});

test("a mention in the memory of a group reaches only subscriptions of the organization", async () => {
  const group = await send("POST", "/api/v1/board-groups", { name: "Ships" });
  await send("PATCH", `/api/v1/boards/${home.board_id}`, { board_group_id: group.id });
  const received = await subscribeAll(["mention"]);
  await send("POST", `/api/v1/board-groups/${group.id}/memory`, { content: "@grace, see the plan" });
  expect(await received()).toMatchObject({
    organization: [{ board_id: null, subject: { type: "board_group", id: group.id }, user_ids: [grace_id] }],
    board: [],
    other: [],
  });
});

test("a text that names nobody who may read it causes no event", async () => {
  const received = await subscribeAll(["mention"]);
  const path = `/api/v1/boards/${home.board_id}/memory`;
  await send("POST", path, { content: "@stranger, this costs 5 @home" });
  expect(await received()).toEqual({ organization: [], board: [], other: [] });
});

test("a silent agent of a board reaches subscriptions of the board and of the organization", async () => {
  const received = await subscribeAll(["agent.silent"]);
  await world.call("POST", "/api/v1/agent/heartbeat", { agent: home.worker.token, body: {} });
  world.elapse(11 * 60_000);
  await scheduled.lifecycle(world.context());
  const { organization, board, other } = await received();
  const silent = organization!.filter(({ subject }) => subject.id === home.worker.id);
  expect(silent).toMatchObject([{ board_id: home.board_id, subject: { type: "agent" }, actor: { type: "agent" } }]);
  expect(board).toContainEqual(silent[0]);
  expect(other).toEqual([]);
});

test("a key that ends soon reaches only subscriptions of the organization", async () => {
  const received = await subscribeAll(["key.expires_soon"]);
  const expires_at = new Date(world.now().getTime() + 10 * DAY).toISOString();
  const key = await send("POST", "/api/v1/keys", { name: "CI", access: "read", expires_at });
  await scheduled.retention(world.context());
  expect(await received()).toMatchObject({
    organization: [{ board_id: null, subject: { type: "key", id: key.id } }],
    board: [],
    other: [],
  });
});

test("the failed delivery of a subscription of one board reaches no subscription of another board", async () => {
  const received = await subscribeAll(["delivery.dead"]);
  receiver.answer = (request, response) => (request.url === "/gone" ? reply(410) : accept)(request, response);
  const url = receiver.url.replace("events", "gone");
  const { id } = await subscribe({ url, event_types: ["task.created"] }, baseOf(home.board_id));
  await send("POST", `/api/v1/boards/${home.board_id}/tasks`, { title: "Paint" });
  const { organization, board, other } = await received();
  expect(organization).toMatchObject([{ board_id: home.board_id, subject: { type: "subscription", id } }]);
  expect([board, other]).toEqual([organization, []]);
});

test("subscriptions whose receivers are all down cause no events for each other without end", async () => {
  receiver.answer = reply(500);
  const both = [await subscribe(), await subscribe()];
  await send("POST", `/api/v1/boards/${home.board_id}/tasks`, { title: "Paint" });
  for (let step = 0; step < 100; step++) {
    world.elapse(DAY / 24);
    await world.drain();
  }
  for (const subscription of both) {
    const types = (await deliveriesOf(subscription)).map(({ event_type }: { event_type: string }) => event_type);
    expect(types.toSorted()).toEqual(["delivery.dead", "task.created"]);
  }
});
