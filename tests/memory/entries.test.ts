import { board_memory } from "@board/core/schema/all-tables";
import { eq, sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const home = await world.tenant("home");

const userPath = (query = "") => `/api/v1/boards/${home.board_id}/memory${query}`;
const agentPath = (query = "") => `/api/v1/agent/boards/${home.board_id}/memory${query}`;
const write = (body: unknown) => world.call("POST", userPath(), { token: home.owner.token, body });
const writeAsAgent = (body: unknown) => world.call("POST", agentPath(), { agent: home.worker.token, body });
const read = async (query = "") => (await world.call("GET", userPath(query), { token: home.owner.token })).body;
const contents = async (query = "") => (await read(query)).items.map((entry: { content: string }) => entry.content);

test("a value is stored under its key with itself as content, and returned at both paths", async () => {
  const created = await write({ key: "  deploy.window ", value: "Tuesdays", tags: ["ops"] });
  expect(created.status).toBe(200);
  const { id, created_at } = created.body;
  const entry = {
    id,
    board_id: home.board_id,
    key: "deploy.window",
    value: "Tuesdays",
    content: "Tuesdays",
    tags: ["ops"],
    source: null,
    is_chat: false,
    created_at,
  };
  expect(created.body).toEqual(entry);
  for (const [path, who] of [
    [userPath("?key=deploy.window"), { token: home.owner.token }],
    [userPath("?key=deploy.window"), { agent: home.worker.token }],
    [agentPath("?key=deploy.window"), { agent: home.lead.token }],
  ] as const)
    expect((await world.call("GET", path, who)).body).toEqual({ items: [entry], total: 1, limit: 50, offset: 0 });
});

test("content alone is stored without key and value", async () => {
  const created = await writeAsAgent({ content: " spaced out ", tags: ["note"], source: " field trip " });
  expect(created.body).toMatchObject({
    key: null,
    value: null,
    content: " spaced out ",
    tags: ["note"],
    source: "field trip",
    is_chat: false,
  });
});

test("an entry with key, value and content stores all three as sent", async () => {
  const created = await write({ key: "limits", value: { cpu: 2 }, content: "Two cores", source: "audit" });
  expect(created.body).toMatchObject({ key: "limits", value: { cpu: 2 }, content: "Two cores", tags: null, source: "audit" });
});

const VALUES = [
  0,
  -1.5,
  9007199254740991,
  true,
  false,
  null,
  [],
  {},
  [1, [2, { a: null }]],
  { b: { c: ["d"] } },
  // Text stays text, however much it looks like JSON.
  "5",
  "true",
  "null",
  '{"a":1}',
  '"quoted"',
  "[1,",
  "2026-11-20T10:24:09.799Z",
  " spaced ",
];
test.each(VALUES)("a value is returned as it was sent: %j", async (value) => {
  const created = await writeAsAgent({ key: "any", value });
  expect(created.body).toMatchObject({ value, content: typeof value === "string" ? value : JSON.stringify(value) });
  const { items } = (await world.call("GET", agentPath("?key=any&limit=200"), { agent: home.worker.token })).body;
  expect(items.find((entry: { id: string }) => entry.id === created.body.id)).toEqual(created.body);
});

test("the keys of a value keep their order", async () => {
  const value = { long: 1, b: { y: 1, x: [{ d: 1, c: 2 }] }, a: 3 };
  const { id } = (await write({ key: "ordered", value })).body;
  const { items } = (await world.call("GET", agentPath("?key=ordered"), { agent: home.worker.token })).body;
  expect([items[0].id, JSON.stringify(items[0].value)]).toEqual([id, JSON.stringify(value)]);
});

test.each([[["a,b", "{c}", 'say "d"', "back\\slash", "NULL", "", " e ", "ünï"]], [[]], [null]])(
  "tags are returned as they were sent: %j",
  async (tags) => {
    expect((await write({ content: "tagged", tags })).body.tags).toEqual(tags);
  },
);

test("an entry is chat exactly when its tags contain chat", async () => {
  for (const [tags, is_chat] of [
    [["chat"], true],
    [["ops", "chat"], true],
    [["Chat"], false],
    [["chat "], false],
    [["chats"], false],
    [[], false],
    [null, false],
  ] as const)
    expect((await write({ content: "hello", tags, is_chat: !is_chat })).body.is_chat, JSON.stringify(tags)).toBe(is_chat);
});

test("the source of a chat entry defaults to its author; a note has no default source", async () => {
  expect((await writeAsAgent({ content: "hi", tags: ["chat"] })).body.source).toBe("Worker");
  expect((await writeAsAgent({ content: "hi", tags: ["chat"], source: " " })).body.source).toBe("Worker");
  expect((await writeAsAgent({ content: "hi", tags: ["chat"], source: "bridge" })).body.source).toBe("bridge");
  expect((await writeAsAgent({ content: "hi", source: " " })).body.source).toBeNull();
  const rename = (name: string | null, preferred_name: string | null) =>
    world.db.execute(sql`update users set name = ${name}, preferred_name = ${preferred_name} where auth_subject = 'home'`);
  for (const [name, preferred, source] of [
    ["Ada Lovelace", "Ada", "Ada"],
    ["Ada Lovelace", null, "Ada Lovelace"],
  ] as const) {
    await rename(name, preferred);
    expect((await write({ content: "hi", tags: ["chat"] })).body.source).toBe(source);
  }
  const nameless = await world.person("nameless", { name: undefined });
  await world.join(nameless, home.organization_id, "member", { write: true });
  const posted = await world.call("POST", userPath(), { token: nameless.token, body: { content: "hi", tags: ["chat"] } });
  expect(posted.body.source).toBe("User");
});

test("chat and notes can be listed separately or together, newest first, and by key", async () => {
  await world.db.delete(board_memory).where(eq(board_memory.board_id, home.board_id));
  const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute));
  const rows = [
    { content: "third", created_at: at(3), memory_key: "k" },
    { content: "first", created_at: at(1), memory_key: "k", is_chat: true },
    { content: "second", created_at: at(2), is_chat: true },
    { content: "fourth", created_at: at(4), memory_key: "K" },
  ];
  await world.db.insert(board_memory).values(rows.map((row) => ({ ...row, board_id: home.board_id })));
  expect(await contents()).toEqual(["fourth", "third", "second", "first"]);
  for (const yes of ["true", "1", "YES"]) expect(await contents(`?is_chat=${yes}`)).toEqual(["second", "first"]);
  for (const no of ["false", "0", "off"]) expect(await contents(`?is_chat=${no}`)).toEqual(["fourth", "third"]);
  expect(await contents("?key=k")).toEqual(["third", "first"]);
  expect(await contents("?key=k&is_chat=true")).toEqual(["first"]);
  expect(await contents("?key=none")).toEqual([]);
  expect(await read("?limit=1&offset=2")).toMatchObject({ items: [{ content: "second" }], total: 4, limit: 1, offset: 2 });
  expect(await read("?offset=4")).toEqual({ items: [], total: 4, limit: 50, offset: 4 });
});

test("writing a key again keeps its earlier entries", async () => {
  for (const value of [1, 2]) await write({ key: "again", value });
  const values = (await read("?key=again")).items.map((entry: { value: number }) => entry.value);
  expect(values.toSorted()).toEqual([1, 2]);
});

const deep = JSON.parse("[".repeat(40) + "]".repeat(40));
test.each([
  [{}, "value_error", []],
  [{ key: "k" }, "value_error", []],
  [{ content: null, tags: ["chat"] }, "value_error", []],
  [{ key: " ", value: 1 }, "string_too_short", ["key"]],
  [{ key: "k".repeat(201), value: 1 }, "string_too_long", ["key"]],
  [{ key: 5, value: 1 }, "string_type", ["key"]],
  [{ content: 5 }, "string_type", ["content"]],
  [{ content: "c".repeat(100_001) }, "string_too_long", ["content"]],
  [{ content: "c", tags: "chat" }, "list_type", ["tags"]],
  [{ content: "c", tags: [5] }, "string_type", ["tags", 0]],
  [{ content: "c", tags: ["t".repeat(201)] }, "string_too_long", ["tags", 0]],
  [{ content: "c", tags: Array(51).fill("t") }, "too_long", ["tags"]],
  [{ content: "c", source: 5 }, "string_type", ["source"]],
  [{ content: "c", source: "s".repeat(201) }, "string_too_long", ["source"]],
  [{ value: { a: "v".repeat(65_536) } }, "value_error", ["value"]],
  [{ content: "a\0b" }, "value_error", ["content"]],
  [{ value: { "a\0": 1 } }, "value_error", ["value"]],
  [{ value: ["\ud800"] }, "value_error", ["value", 0]],
  [{ value: deep }, "value_error", []],
  [[], "model_attributes_type", []],
] as [unknown, string, (string | number)[]][])(
  "an invalid entry is refused and its field is named: %.60j",
  async (body, type, field) => {
    const before = await world.db.$count(board_memory);
    for (const refused of [await write(body), await writeAsAgent(body)])
      expect([refused.status, refused.body.detail]).toMatchObject([422, [{ type, loc: ["body", ...field] }]]);
    expect(await world.db.$count(board_memory)).toBe(before);
  },
);

test("blank content is refused, whether sent or derived from the value", async () => {
  for (const body of [{ content: "" }, { content: " \n\t" }, { value: "" }, { key: "k", value: " " }, { content: " ", value: 1 }])
    expect((await write(body)).status, JSON.stringify(body)).toBe(422);
});

test.each(["is_chat=maybe", "is_chat=", "limit=0", "limit=201", "offset=-1"])(
  "an invalid memory query is refused: %s",
  async (query) => {
    for (const [path, who] of [
      [userPath(), { token: home.owner.token }],
      [agentPath(), { agent: home.worker.token }],
    ] as const) {
      const refused = await world.call("GET", `${path}?${query}`, who);
      expect([refused.status, refused.body.detail]).toMatchObject([422, [{ loc: ["query", query.split("=")[0]] }]]);
    }
  },
);
