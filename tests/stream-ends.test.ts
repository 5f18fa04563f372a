import { agents, board_memory, boards, organization_board_access, organization_members, users } from "@board/core/db/schema";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { addBoard } from "./support/board.ts";
import { contentsOf, fewPolls, memoryStream, POLL_MS, streamPath } from "./support/memory-stream.ts";
import { listen, type Listener } from "./support/sse.ts";
import { createWorld, type Tenant, type World } from "./support/world.ts";

let world: World;
let home: Tenant;
let board_id: string;

beforeAll(async () => {
  world = await createWorld({ streams: { poll_ms: POLL_MS } });
  home = await world.tenant("home");
});
afterAll(() => world.close());
let made = 0;
beforeEach(async () => {
  ({ board_id } = await addBoard(world, home, `Board ${++made}`));
});

const { follow, write } = memoryStream(() => ({ world, home, board_id }));

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
      listen((target, init) => short.app.request(target, init), streamPath(tenant.board_id), { token: tenant.owner.token, last });
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
      listen((target, init) => other.app.request(target, init), streamPath(tenant.board_id, "?since=2000-01-01"), {
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
    edge.call("GET", streamPath(tenant.board_id, query), {
      token: tenant.owner.token,
      headers: last ? { "last-event-id": last } : {},
    });
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
