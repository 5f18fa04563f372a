import { setTimeout as pause } from "node:timers/promises";
import { agents, board_memory, boards, organization_board_access, organization_members, users } from "@board/core/db/schema";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { addBoard } from "./support/board.ts";
import { listen, type Listener, type ListenOptions } from "./support/sse.ts";
import { createWorld, type Tenant, type World } from "./support/world.ts";

const POLL_MS = 20;

let world: World;
let home: Tenant;
let board_id: string;

beforeAll(async () => {
  world = await createWorld({ streams: { poll_ms: POLL_MS }, environment: { CORS_ORIGINS: "https://app.example" } });
  home = await world.tenant("home");
});
afterAll(() => world.close());
let made = 0;
beforeEach(async () => {
  ({ board_id } = await addBoard(world, home, `Board ${++made}`));
});

const path = (query = "", id = board_id) => `/api/v1/boards/${id}/memory/stream${query}`;
const follow = (query = "", options: ListenOptions = { token: home.owner.token }, at = world) =>
  listen((target, init) => at.app.request(target, init), path(query), options);
const resume = (listener: Listener, query = "") => follow(query, { token: home.owner.token, last: listener.lastId() });
const write = async (content: string, body: object = {}) =>
  (await world.call("POST", `/api/v1/boards/${board_id}/memory`, { token: home.owner.token, body: { content, ...body } })).body;
const contentsOf = (listener: Listener) => listener.events().map(({ data }) => data.memory.content);
/** Long enough for polls that would bring more. */
const fewPolls = () => pause(POLL_MS * 6);

describe("the wire format", () => {
  test("an event is an id, a name and one line of JSON, and nothing else is on the wire", async () => {
    const listener = await follow();
    const entry = await write("Two\nlines\r\nand \u2028 more", { tags: ["ops"] });
    await listener.receives(1);
    const id = listener.lastId()!;
    expect(listener.text).toBe(`id: ${id}\nevent: memory\ndata: ${JSON.stringify({ memory: entry })}\n\n`);
    expect(id).toMatch(/^[A-Za-z0-9_-]+$/);
    await listener.close();
  });

  test("the headers come at once, before any event", async () => {
    const response = await world.app.request(path(), {
      headers: { authorization: `Bearer ${home.owner.token}`, origin: "https://app.example" },
    });
    expect(response.status).toBe(200);
    const { headers } = response;
    expect(headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-accel-buffering")).toBe("no");
    expect(headers.get("access-control-allow-origin")).toBe("https://app.example");
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("x-request-id")).toBeTruthy();
    await response.body!.cancel();
  });

  test("HEAD has the headers and opens nothing", async () => {
    const head = await world.call("HEAD", path(), { token: home.owner.token });
    expect([head.status, head.headers.get("content-type"), head.text]).toEqual([200, "text/event-stream; charset=utf-8", ""]);
    await fewPolls();
    world.statements.length = 0;
    await fewPolls();
    expect(world.statements).toEqual([]);
  });

  test("a comment line keeps the connection awake", async () => {
    const awake = await createWorld({ streams: { poll_ms: POLL_MS, ping_ms: 30 } });
    const tenant = await awake.tenant("awake");
    const listener = await listen((target, init) => awake.app.request(target, init), path("", tenant.board_id), {
      token: tenant.owner.token,
    });
    await listener.sees(": ping\n\n: ping\n\n");
    expect(listener.text.replaceAll(": ping\n\n", "")).toBe("");
    await awake.close();
    await listener.ends();
  });

  test("what is wrong before the first byte is an ordinary answer", async () => {
    const answers = [
      await world.call("GET", path(), {}),
      await world.call("GET", path("", crypto.randomUUID()), { token: home.owner.token }),
      await world.call("GET", path("", home.board_id), { agent: (await addBoard(world, home, "Elsewhere")).agent.token }),
      await world.call("GET", path("?since=yesterday"), { token: home.owner.token }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 404, 403, 422]);
    for (const { headers } of answers) expect(headers.get("content-type")).toBe("application/json");
  });
});

describe("where a stream starts", () => {
  test("now, when nothing else is asked for", async () => {
    await write("before");
    for (const query of ["", "?since=", "?since=null", "?since=%20"]) {
      const listener = await follow(query);
      await fewPolls();
      expect(listener.events(), query).toEqual([]);
      await listener.close();
    }
  });

  test("after the last event that the client has, in the order of the commits", async () => {
    const first = await follow();
    await write("one");
    await first.receives(1);
    await first.close();
    await write("two");
    await write("three");
    const second = await resume(first);
    await second.receives(2);
    await write("four");
    await second.receives(3);
    await fewPolls();
    expect(contentsOf(second)).toEqual(["two", "three", "four"]);
    await second.close();
  });

  test("with a Last-Event-ID of another making as if there were none", async () => {
    await write("before");
    const foreign = Buffer.from(`${2n ** 63n}.1`).toString("base64url");
    const huge = Buffer.from(`1.${"9".repeat(19)}`).toString("base64url");
    for (const last of ["nonsense", "0", "%", "\u00fcber", foreign, huge, "1.1", Buffer.from("-1.1").toString("base64url")]) {
      const listener = await follow("?since=2000-01-01", { token: home.owner.token, last });
      await listener.receives(1);
      expect(contentsOf(listener), last).toEqual(["before"]);
      await listener.close();
    }
  });

  test("with Last-Event-ID rather than since", async () => {
    const first = await follow();
    await write("one");
    await first.receives(1);
    await first.close();
    const second = await resume(first, "?since=2000-01-01");
    await write("two");
    await second.receives(1);
    expect(contentsOf(second)).toEqual(["two"]);
    await second.close();
  });

  const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 12, 0, second));
  test.each([
    "2026-01-01T12:00:01Z",
    "2026-01-01T12:00:01",
    "2026-01-01 12:00:01.000",
    "2026-01-01T14:00:01%2B02:00",
    "2026-01-01T14:00:01+02:00",
    "2026-01-01T14:00:01 0200",
    "2026-01-01T14:00:01 02",
    "2026-01-01T10:00:01-02:00",
    "%202026-01-01T12:00:01Z%20",
  ])("with what was written at or after %s", async (since) => {
    await world.db
      .insert(board_memory)
      .values([0, 1, 2].map((second) => ({ board_id, content: `at ${second}`, created_at: at(second) })));
    const listener = await follow(`?since=${since}`);
    await listener.receives(2);
    await write("now");
    await listener.receives(3);
    expect(contentsOf(listener)).toEqual(["at 1", "at 2", "now"]);
    await listener.close();
  });

  test.each([
    "yesterday",
    "2026-13-01",
    "2026-02-30",
    "12:00",
    "0",
    "1767268800",
    "1800-01-01",
    "2026-01-01T12:00 PM",
    "undefined",
  ])("not with %s", async (since) => {
    const refused = await world.call("GET", path(`?since=${encodeURIComponent(since)}`), { token: home.owner.token });
    expect(refused.status).toBe(422);
    expect(refused.body.detail).toEqual([
      { type: "datetime_parsing", loc: ["query", "since"], msg: "Input should be a valid datetime", input: since },
    ]);
  });

  test("a long history comes whole and in order, then what is new", async () => {
    const history = Array.from({ length: 1_050 }, (_, index) => ({ board_id, content: `${index}` }));
    await world.db.insert(board_memory).values(history);
    const listener = await follow("?since=2000-01-01");
    await write("new");
    await listener.receives(1_051);
    await fewPolls();
    expect(contentsOf(listener)).toEqual([...history.map(({ content }) => content), "new"]);
    await listener.close();
  });

  test("chat and notes are followed together or apart", async () => {
    const [all, chat, notes] = [await follow(), await follow("?is_chat=true"), await follow("?is_chat=0")];
    await write("note");
    await write("hello", { tags: ["chat"] });
    await all.receives(2);
    await Promise.all([chat.receives(1), notes.receives(1)]);
    await fewPolls();
    expect([all, chat, notes].map(contentsOf)).toEqual([["note", "hello"], ["hello"], ["note"]]);
    await Promise.all([all, chat, notes].map((one) => one.close()));
  });
});

describe("access", () => {
  async function member(flags: { read?: boolean } = {}) {
    const person = await world.person(`member ${crypto.randomUUID()}`);
    const id = await world.join(person, home.organization_id, "member", flags);
    return { ...person, id };
  }
  /** What somebody receives who loses access after one event, while more is written; their stream ends. */
  async function losing(listener: Listener, loss: () => Promise<unknown>): Promise<string[]> {
    await write("seen");
    await listener.receives(1);
    await loss();
    await world.db
      .insert(board_memory)
      .values({ board_id, content: "secret" })
      .catch(() => {});
    await listener.ends();
    return [...contentsOf(listener), ...(listener.text.includes("retry:") ? ["retry"] : [])];
  }

  test("a removed member's stream ends at the next poll", async () => {
    const person = await member({ read: true });
    const listener = await follow("", { token: person.token });
    const loss = () => world.db.delete(organization_members).where(eq(organization_members.id, person.id));
    expect(await losing(listener, loss)).toEqual(["seen"]);
  });

  test("a member who loses the right to the board loses the stream; the others keep theirs", async () => {
    const [person, other] = [await member(), await member({ read: true })];
    await world.db
      .insert(organization_board_access)
      .values({ organization_member_id: person.id, board_id, can_read: true, can_write: false });
    const listener = await follow("", { token: person.token });
    const kept = await follow("", { token: other.token });
    const own = eq(organization_board_access.organization_member_id, person.id);
    expect(await losing(listener, () => world.db.delete(organization_board_access).where(own))).toEqual(["seen"]);
    await kept.receives(2);
    await kept.close();
  });

  test("a deleted person's stream ends, and nobody is made anew", async () => {
    const person = await member({ read: true });
    const listener = await follow("", { token: person.token });
    const own = eq(users.auth_subject, person.subject);
    expect(await losing(listener, () => world.db.delete(users).where(own))).toEqual(["seen"]);
    expect(await world.db.select().from(users).where(own)).toEqual([]);
  });

  test("a stream ends with the token it was opened with", async () => {
    const person = await member({ read: true });
    const seconds = Math.floor(Date.now() / 1000);
    const token = await world.identities.token(person.subject, { iat: seconds - 60, exp: seconds - 9 });
    const listener = await follow("", { token });
    expect(listener.status).toBe(200);
    await listener.ends();
  });

  test.each(["deleted", "deleting", "moved", "given another token"])("the stream of an agent that is %s ends", async (what) => {
    const { agent, board_id: own } = await addBoard(world, home, `For ${what}`);
    board_id = own;
    const listener = await follow("", { agent: agent.token });
    const row = eq(agents.id, agent.id);
    const loss = (): Promise<unknown> => {
      if (what === "deleted") return world.db.delete(agents).where(row);
      if (what === "deleting") return world.db.update(agents).set({ status: "deleting" }).where(row);
      if (what === "moved") return world.db.update(agents).set({ board_id: home.board_id }).where(row);
      return world.db.update(agents).set({ agent_token_lookup: "another" }).where(row);
    };
    expect(await losing(listener, loss)).toEqual(["seen"]);
  });

  test("the stream of a deleted board ends", async () => {
    const listener = await follow();
    await world.db.delete(boards).where(eq(boards.id, board_id));
    expect(await listener.ends()).toBe(true);
  });

  test("an open stream is no sign of life", async () => {
    const { agent, board_id: own } = await addBoard(world, home, "Quiet");
    board_id = own;
    const listener = await follow("", { agent: agent.token });
    const before = await world.db.select().from(agents).where(eq(agents.id, agent.id));
    world.elapse(60_000);
    await fewPolls();
    expect(await world.db.select().from(agents).where(eq(agents.id, agent.id))).toEqual(before);
    await listener.close();
  });
});

describe("the end", () => {
  test("at the time limit the client is told when to come back and from where, and loses nothing", async () => {
    const short = await createWorld({ streams: { poll_ms: POLL_MS, max_seconds: 0.2 } });
    const tenant = await short.tenant("short");
    const at = (last?: string) =>
      listen((target, init) => short.app.request(target, init), path("", tenant.board_id), { token: tenant.owner.token, last });
    const say = (content: string) =>
      short.call("POST", `/api/v1/boards/${tenant.board_id}/memory`, { token: tenant.owner.token, body: { content } });
    const first = await at();
    await first.ends();
    expect(first.text).toMatch(/^id: [\w-]+\nretry: 20\n\n$/);
    await say("one");
    const second = await at(first.lastId());
    await say("two");
    await second.ends();
    expect(contentsOf(second)).toEqual(["one", "two"]);
    expect(second.text).toMatch(/\n\nid: [\w-]+\nretry: 20\n\n$/);
    await short.close();
  });

  test("when the process stops every stream ends at once, and a new one gives what is there", async () => {
    const stopping = new AbortController();
    const other = await createWorld({ streams: { poll_ms: 60_000, stopping: stopping.signal } });
    const tenant = await other.tenant("other");
    const at = () =>
      listen((target, init) => other.app.request(target, init), path("?since=2000-01-01", tenant.board_id), {
        token: tenant.owner.token,
      });
    const listeners = [await at(), await at()];
    stopping.abort();
    for (const listener of listeners) {
      await listener.ends();
      expect(listener.text).toMatch(/retry: 60000\n\n$/);
    }
    const late = await at();
    await late.ends();
    expect(late.text).toMatch(/^id: [\w-]+\nretry: 60000\n\n$/);
    await other.close();
  });
});

describe("an edge that cannot stream", () => {
  let edge: World;
  let tenant: Tenant;
  beforeAll(async () => {
    edge = await createWorld({ streams: { max_seconds: 0 } });
    tenant = await edge.tenant("edge");
  });
  afterAll(() => edge.close());

  const ask = (query = "", last?: string) =>
    edge.call("GET", path(query, tenant.board_id), { token: tenant.owner.token, headers: last ? { "last-event-id": last } : {} });
  const say = (content: string) =>
    edge.call("POST", `/api/v1/boards/${tenant.board_id}/memory`, { token: tenant.owner.token, body: { content } });
  const lastId = (text: string) => [...text.matchAll(/^id: (.*)$/gm)].at(-1)![1]!;
  const contents = (text: string) => [...text.matchAll(/^data: (.*)$/gm)].map((match) => JSON.parse(match[1]!).memory.content);

  test("gives what is there and ends, so that a client that comes back misses nothing", async () => {
    await say("before");
    const first = await ask();
    expect(first.text).toMatch(/^id: [\w-]+\nretry: 2000\n\n$/);
    await say("one");
    await say("two");
    const second = await ask("", lastId(first.text));
    expect(contents(second.text)).toEqual(["one", "two"]);
    expect((await ask("", lastId(second.text))).text).not.toContain("data:");
  });

  test("costs four statements and holds a history in portions", async () => {
    const history = Array.from({ length: 150 }, (_, index) => ({
      board_id: tenant.board_id,
      content: `${index} ${"x".repeat(20_000)}`,
    }));
    await edge.db.insert(board_memory).values(history);
    const received: string[] = [];
    let answer = await ask("?since=2000-01-01");
    for (let round = 0; round < 10 && answer.text.includes("data:"); round++) {
      expect(answer.text.length).toBeLessThan(1_100_000);
      received.push(...contents(answer.text));
      answer = await ask("?since=2000-01-01", lastId(answer.text));
    }
    expect(received.filter((content) => content.includes("xxx"))).toEqual(history.map(({ content }) => content));
    edge.statements.length = 0;
    await ask("", lastId(answer.text));
    expect(edge.statements.length).toBeLessThanOrEqual(4);
  });
});
