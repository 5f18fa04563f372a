import { createClient } from "@board/client/client";
import { expect, test } from "vitest";
import { serve } from "../support/serve.ts";
import { setup, setupWorld } from "../support/fixtures.ts";

const world = await setupWorld({ streams: { poll_ms: 20 } });
const home = await world.tenant("home");
const server = await setup(serve((request) => world.app.fetch(request)));

const tasks = "/api/v1/boards/{board_id}/tasks";
const path = { board_id: home.board_id };
const person = () => createClient({ url: server.url, token: home.owner.token });
const addTask = (title: string) => person().post(tasks, { params: { path }, body: { title } });

test("the items of a list are read page by page, each once, and only as many pages as are needed", async () => {
  const made: string[] = [];
  for (let number = 0; number < 7; number++) made.push((await addTask(`Task ${number}`)).id);
  const requests: string[] = [];
  const client = createClient({
    url: server.url,
    token: home.owner.token,
    fetch: (request) => {
      requests.push(new URL(request.url).search);
      return fetch(request);
    },
  });
  const params = { path, query: { limit: 3 } };
  const ids: string[] = [];
  for await (const { id } of client.list(tasks, { params })) ids.push(id);
  expect(ids).toEqual(made.toReversed());
  expect(requests).toHaveLength(3);
  for await (const { id } of client.list(tasks, { params })) {
    expect(id).toBe(made[6]);
    break;
  }
  expect(requests).toHaveLength(4);
  const rest: string[] = [];
  for await (const { id } of client.list(tasks, { params: { path, query: { limit: 3, offset: 4 } } })) rest.push(id);
  expect(rest).toEqual(made.toReversed().slice(4));
});

test("an empty list yields nothing, and a list whose answers contain the next cursor is read to its end", async () => {
  const found: unknown[] = [];
  for await (const item of person().list("/api/v1/board-groups")) found.push(item);
  expect(found).toEqual([]);
  const query = { limit: 1 };
  const ids: string[] = [];
  for await (const { id } of person().list("/api/v1/jobs", { params: { query } })) ids.push(id);
  const { items } = await person().get("/api/v1/jobs", { params: { query: { limit: 200 } } });
  expect(ids).toEqual(items.map(({ id }) => id));
  expect(ids.length).toBeGreaterThan(0);
});

test("rows that are added while a list is read are neither missed nor repeated", async () => {
  const before = (await person().get(tasks, { params: { path, query: { limit: 200 } } })).items.map(({ id }) => id);
  const seen: string[] = [];
  for await (const { id } of person().list(tasks, { params: { path, query: { limit: 2 } } })) {
    seen.push(id);
    await addTask("Added meanwhile");
  }
  expect(seen.filter((id) => before.includes(id))).toEqual(before);
  expect(new Set(seen).size).toBe(seen.length);
});

test("a client call returns the headers of the answer when they are requested", async () => {
  const { data, status, headers } = await person().send("get", "/api/v1/boards/{board_id}", { params: { path } });
  expect([status, data.id]).toEqual([200, home.board_id]);
  expect(headers.get("etag")).toMatch(/^"/);
});

test("changes are read from a cursor to the end, and then as they happen", async () => {
  const marks: string[] = [];
  for await (const { cursor } of person().changes({ cursor: "", live: false })) marks.push(cursor);
  expect(marks.length).toBeGreaterThan(7);
  const late = await addTask("Later");
  const cursor = marks.at(-1)!;
  const stored: unknown[] = [];
  for await (const change of person().changes({ cursor, types: ["task"], live: false })) stored.push(change);
  expect(stored).toMatchObject([{ type: "task", action: "created", id: late.id, board_id: home.board_id }]);
  const live: string[] = [];
  for await (const change of person().changes({ cursor, board_id: home.board_id, types: ["task"] })) {
    live.push(change.id);
    if (live.length === 2) break;
    await addTask("While it is followed");
  }
  expect(live[0]).toBe(late.id);
  expect(new Set(live).size).toBe(2);
});
