import {
  agents,
  board_group_memory,
  board_groups,
  board_memory,
  board_webhook_payloads,
  boards,
  gateways,
  organizations,
  tasks,
} from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import * as fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { openEmbedded } from "../support/embedded.ts";
import { setupWorld } from "../support/fixtures.ts";
import { actAsMainAgent } from "../support/main-agent.ts";
import { createWebhook, postPayload } from "../support/webhook.ts";
import { createWorld, type Tenant } from "../support/world.ts";
import type { CallOptions } from "../support/http.ts";

const world = await setupWorld();
const home = await world.tenant("home");
const abroad = await world.tenant("abroad");
const webhook = await createWebhook(world, home);
const mainAgent: CallOptions = { agent: (await actAsMainAgent(world, home.gateway_id)).token };

const search = (path: string, q: string, who: CallOptions = { token: home.owner.token }) =>
  world.call("GET", `${path}${path.includes("?") ? "&" : "?"}q=${encodeURIComponent(q)}`, who);
const taskPath = (tenant = home) => `/api/v1/boards/${tenant.board_id}/tasks`;
const findTitles = async (q: string) => (await search(taskPath(), q)).body.items.map(({ title }: { title: string }) => title);
const addTasks = (...titles: string[]) =>
  world.db.insert(tasks).values(titles.map((title) => ({ board_id: home.board_id, title })));

describe("a search for tasks", () => {
  beforeAll(() =>
    addTasks(
      "Repair the Login page",
      "Logs of src/main.ts-file",
      "ÉMILE schreibt Übungen",
      "日本語 テスト",
      "🎉 party",
      "tab\tand\nline",
    ),
  );

  test.each([
    ["login", "Repair the Login page"],
    ["LOGIN repair", "Repair the Login page"],
    ["rep pag", "Repair the Login page"],
    ["main", "Logs of src/main.ts-file"],
    ["src/main.ts", "Logs of src/main.ts-file"],
    ["émile übung", "ÉMILE schreibt Übungen"],
    ["日本", "日本語 テスト"],
    ["🎉", "🎉 party"],
    ["line", "tab\tand\nline"],
  ])("a search for %j finds the tasks %j", async (q, title) => {
    expect(await findTitles(q)).toEqual([title]);
  });

  test("a search finds only tasks that have all words, and does not match the middle of a word", async () => {
    expect(await findTitles("login logs")).toEqual([]);
    expect(await findTitles("ogin")).toEqual([]);
    expect((await findTitles("log")).toSorted()).toEqual(["Logs of src/main.ts-file", "Repair the Login page"]);
  });

  test("a search reads descriptions, keeps the order and the other filters, and counts what it finds", async () => {
    const { board_id } = home;
    await world.db.insert(tasks).values([
      { board_id, title: "First", description: "Zebra crossing", priority: "low" },
      { board_id, title: "Second", description: "A zebra", priority: "high", status: "done" },
    ]);
    const byPriority = (await search(`${taskPath()}?sort=priority&limit=1`, "zebra")).body;
    expect([byPriority.total, byPriority.items[0].title]).toEqual([2, "Second"]);
    expect((await search(`${taskPath()}?status=inbox`, "zebra")).body).toMatchObject({ total: 1, items: [{ title: "First" }] });
    const first = await search(`${taskPath()}?sort=priority&limit=1&cursor=`, "zebra");
    const next = /<(.*)>/.exec(first.headers.get("link")!)![1]!;
    expect((await world.call("GET", next, { token: home.owner.token })).body.items).toMatchObject([{ title: "First" }]);
  });

  test("a search for the words of a text finds the text", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 }), async (title) => {
        fc.pre(title.isWellFormed() && !title.includes("\0"));
        const [task] = await world.db
          .insert(tasks)
          .values({ board_id: home.board_id, title: `word ${title}` })
          .returning();
        const { body } = await search(`${taskPath()}?limit=200`, `word ${title}`);
        expect(body.items.map(({ id }: { id: string }) => id)).toContain(task!.id);
      }),
      { numRuns: 60 },
    );
  });

  test("a search finds long words by their beginning", async () => {
    await addTasks(`long ${"x".repeat(490)}`);
    await world.db.insert(tasks).values({ board_id: home.board_id, title: "huge", description: "é".repeat(100_000) });
    for (const [q, title] of [
      ["x".repeat(70), "long"],
      ["é".repeat(180), "huge"],
    ] as const)
      expect((await findTitles(q)).map((found: string) => found.slice(0, 4))).toEqual([title]);
  });
});

test("tasks without a due date come last in both orders by due date", async () => {
  const { board_id } = abroad;
  const due = (day: string) => new Date(`2026-03-0${day}T00:00:00Z`);
  await world.db.insert(tasks).values([
    { board_id, title: "2", due_at: due("2"), priority: "low" },
    { board_id, title: "never", priority: "other" },
    { board_id, title: "1", due_at: due("1"), priority: "high" },
    { board_id, title: "3", due_at: due("3"), priority: "medium" },
  ]);
  const sorted = async (sort: string) => {
    const { body } = await world.call("GET", `${taskPath(abroad)}?sort=${sort}`, { token: abroad.owner.token });
    return body.items.map(({ title }: { title: string }) => title).join(" ");
  };
  expect(await sorted("due_at")).toBe("1 2 3 never");
  expect(await sorted("-due_at")).toBe("3 2 1 never");
  expect(await sorted("priority")).toBe("1 3 2 never");
  expect(await sorted("-priority")).toBe("never 2 3 1");
  const refused = await world.call("GET", `${taskPath(abroad)}?sort=title`, { token: abroad.owner.token });
  expect(refused.body.detail[0]).toMatchObject({ type: "value_error", loc: ["query", "sort"] });
});

test("boards, agents, memory and payloads are found by their words", async () => {
  const { organization_id, gateway_id, board_id, owner, lead } = home;
  const token = { token: owner.token };
  const agent = { agent: lead.token };
  const [group] = await world.db.insert(board_groups).values({ organization_id, name: "G", slug: "g" }).returning();
  const board = { organization_id, gateway_id, name: "Rocket", slug: "moon-1", description: "fly", objective: "Landing softly" };
  await world.db.insert(boards).values({ ...board, board_group_id: group!.id });
  await world.db.update(boards).set({ board_group_id: group!.id }).where(eq(boards.id, board_id));
  await world.db.insert(agents).values({ gateway_id, board_id, name: "Grace", identity_profile: { role: "Compiler engineer" } });
  await world.db.insert(board_memory).values({ board_id, memory_key: "deploy_target", content: "Frankfurt, Ireland" });
  await world.db.insert(board_group_memory).values({ board_group_id: group!.id, content: "Shared wisdom" });
  await postPayload(world, webhook, JSON.stringify({ title: "Über\nflow\u0007", nested: [{ n: 4711 }] }), { "x-event": "push" });
  await postPayload(world, webhook, "plain text\0 about Kafka", { "content-type": "text/plain" });
  const found = async (path: string, q: string, who: CallOptions) => (await search(path, q, who)).body.total;
  const cases = [
    ["/api/v1/boards", token, ["rocket", "MOON", "soft landing", "fly"]],
    ["/api/v1/agent/boards", mainAgent, ["rocket moon"]],
    ["/api/v1/agents", token, ["grace", "compiler"]],
    [`/api/v1/agents?board_id=${board_id}`, token, ["grace engineer"]],
    ["/api/v1/agent/agents", agent, ["grace", "engin"]],
    [`/api/v1/boards/${board_id}/memory`, token, ["deploy", "target frankfurt", "ireland"]],
    [`/api/v1/agent/boards/${board_id}/memory`, agent, ["frank"]],
    [`/api/v1/board-groups/${group!.id}/memory`, token, ["wisdom"]],
    [`/api/v1/boards/${board_id}/group-memory`, agent, ["shared"]],
    [`/api/v1/boards/${board_id}/webhooks/${webhook.id}/payloads`, token, ["über", "flow", "4711", "kafka"]],
    [`/api/v1/boards/${board_id}/webhooks/${webhook.id}/payloads?delivery_status=queued`, token, ["über", "kafka"]],
    [`/api/v1/boards/${board_id}/memory?is_chat=false`, token, ["deploy"]],
  ] as const;
  for (const [path, who, queries] of cases) {
    for (const q of queries) expect(await found(path, q, who), `${path} ${q}`).toBe(1);
    expect(await found(path, "absent", who), path).toBe(0);
    const page = async (query: string) =>
      (await search(`${path}${path.includes("?") ? "&" : "?"}${query}`, queries[0]!, who)).body;
    expect(await page("offset=1"), path).toMatchObject({ total: 1, items: [] });
    expect(await page("cursor="), path).toMatchObject({ total: -1, items: [{ id: expect.any(String) }] });
  }
});

const HOSTILE_TEXTS: Record<string, string> = {
  operators: "& | ! : * ( ) ' \\ <->",
  "a statement": "'; drop table tasks; --",
  "a broken query": "a:* | !b & (c",
  "a backslash": "\\",
  quotes: "''",
  wildcards: "%_",
  "an emoji of several characters": "🎉👩‍👩‍👧‍👦",
  "text from right to left": "مرحبا \u202etxet\u202c",
  "a NUL": "\0",
  "201 characters": "x".repeat(201),
  "10,000 characters": "x".repeat(10_000),
  "100 words": Array.from({ length: 100 }, (_, index) => String.fromCharCode(97 + (index % 26))).join(" "),
  spaces: " ".repeat(200),
  "letters whose lower case has another length": "İıſK",
};

test.each(Object.entries(HOSTILE_TEXTS))("a search for %s gives an answer or names a problem of the input", async (_, q) => {
  const paths = [taskPath(), "/api/v1/boards", "/api/v1/agents", `/api/v1/boards/${home.board_id}/memory`];
  for (const path of [...paths, `/api/v1/boards/${home.board_id}/webhooks/${webhook.id}/payloads`]) {
    const { status } = await search(path, q);
    expect(status, path).toBe(q.length > 200 || q.includes("\0") ? 422 : 200);
  }
});

test("payloads that are older than the index are not found", async () => {
  await world.db
    .update(board_webhook_payloads)
    .set({ words: null, search_text: null, summary: null })
    .where(eq(board_webhook_payloads.webhook_id, webhook.id));
  const path = `/api/v1/boards/${home.board_id}/webhooks/${webhook.id}/payloads`;
  expect((await search(path, "kafka")).body.total).toBe(0);
  expect((await search(path, "kafka")).status).toBe(200);
});

test("the embedded database finds words and pages by cursor as a server does", async () => {
  const database = await openEmbedded();
  const embedded = await createWorld({ database });
  try {
    const { owner, board_id } = await embedded.tenant("embedded");
    const { token } = owner;
    const path = `/api/v1/boards/${board_id}/tasks`;
    for (const title of ["Ärger with src/main.ts", "ÄRGER at login", "Nothing"])
      await embedded.call("POST", path, { token, body: { title } });
    const first = await embedded.call("GET", `${path}?q=${encodeURIComponent("ärger")}&limit=1&cursor=`, { token });
    const next = /<(.*)>/.exec(first.headers.get("link")!)![1]!;
    const second = await embedded.call("GET", next, { token });
    const titles = [first, second].map(({ body }) => body.items.map(({ title }: { title: string }) => title));
    expect(titles).toEqual([["ÄRGER at login"], ["Ärger with src/main.ts"]]);
    expect(second.headers.get("link")).toBeNull();
  } finally {
    await embedded.close();
    await database.close();
  }
});

test("a search finds nothing of another organization, even when one of its words is that organization's id", async () => {
  const secret = `Secret${crypto.randomUUID().slice(0, 8)}`;
  const { organization_id, gateway_id, board_id } = abroad;
  await world.db.insert(tasks).values({ board_id, title: secret });
  await world.db.insert(boards).values({ organization_id, gateway_id, name: secret, slug: secret, description: "" });
  await world.db.insert(agents).values({ gateway_id, board_id, name: secret });
  await world.db.insert(board_memory).values({ board_id, content: secret });
  const found = async (path: string, q: string, tenant: Tenant) =>
    (await search(path.replace("{b}", tenant.board_id), q, { token: tenant.owner.token })).body.total;
  for (const path of ["/api/v1/boards/{b}/tasks", "/api/v1/boards", "/api/v1/agents", "/api/v1/boards/{b}/memory"]) {
    expect(await found(path, secret, abroad), path).toBe(1);
    for (const q of [secret, `${board_id}/${secret}`, `${organization_id}/${secret}`, `x' | '${board_id}/${secret}`])
      expect(await found(path, q, home), `${path} ${q}`).toBe(0);
  }
});

test("a search finds nothing of another owner whose id begins with the same characters", async () => {
  const word = `Twin${crypto.randomUUID().slice(0, 8)}`;
  const twinOf = (id: string) => id.slice(0, 8) + crypto.randomUUID().slice(8);
  const [organization_id, gateway_id, board_id] = [home.organization_id, home.gateway_id, home.board_id].map(twinOf);
  const rowOf = async <T extends object>(rows: Promise<T[]>) => (await rows)[0]!;
  const organization = await rowOf(world.db.select().from(organizations).where(eq(organizations.id, home.organization_id)));
  const gateway = await rowOf(world.db.select().from(gateways).where(eq(gateways.id, home.gateway_id)));
  await world.db.insert(organizations).values({ ...organization, id: organization_id!, name: word });
  await world.db.insert(gateways).values({ ...gateway, id: gateway_id!, organization_id: organization_id! });
  const board = { organization_id: organization_id!, gateway_id: gateway_id!, name: word, slug: word, description: "" };
  await world.db.insert(boards).values({ ...board, id: board_id! });
  const both = [board_id!, home.board_id];
  await world.db.insert(tasks).values(both.map((board_id) => ({ board_id, title: word })));
  await world.db.insert(board_memory).values(both.map((board_id) => ({ board_id, content: word })));
  await world.db.insert(agents).values({ gateway_id: gateway_id!, board_id: board_id!, name: word });
  const expected = { [taskPath()]: 1, [`/api/v1/boards/${home.board_id}/memory`]: 1, "/api/v1/boards": 0, "/api/v1/agents": 0 };
  for (const [path, count] of Object.entries(expected)) {
    const { total, items } = (await search(path, word)).body;
    expect([total, items.length], path).toEqual([count, count]);
  }
});
