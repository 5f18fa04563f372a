import {
  agents,
  board_memory,
  boards,
  organization_board_access,
  organization_members,
  users,
} from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { addBoard } from "../support/board.ts";
import { contentsOf, waitForPolls, createMemoryStreamClient, POLL_MS, streamPath } from "./memory-stream-client.ts";
import { listen, type Listener } from "../support/sse.ts";
import { createWorld, type Tenant, type World } from "../support/world.ts";

let board_id: string;

const world = await setupWorld({ streams: { poll_ms: POLL_MS } });
const home = await world.tenant("home");

let boardNumber = 0;
beforeEach(async () => {
  ({ board_id } = await addBoard(world, home, `Board ${++boardNumber}`));
});

const { follow, write } = createMemoryStreamClient(() => ({ world, home, board_id }));

describe("a stream whose reader loses access", () => {
  async function member(flags: { read?: boolean } = {}) {
    const person = await world.person(`member ${crypto.randomUUID()}`);
    const id = await world.join(person, home.organization_id, "member", flags);
    return { ...person, id };
  }
  /** Returns the events of a listener that loses access after the first one, while more are written. Its stream must end. */
  async function receivedUntilLoss(listener: Listener, loss: () => Promise<unknown>): Promise<string[]> {
    await write("seen");
    await listener.waitForEvents(1);
    await loss();
    await world.db
      .insert(board_memory)
      .values({ board_id, content: "secret" })
      .catch(() => {});
    await listener.waitForEnd();
    return [...contentsOf(listener), ...(listener.text.includes("retry:") ? ["retry"] : [])];
  }

  test("the stream of a removed member ends at the next poll", async () => {
    const person = await member({ read: true });
    const listener = await follow("", { token: person.token });
    const loss = () => world.db.delete(organization_members).where(eq(organization_members.id, person.id));
    expect(await receivedUntilLoss(listener, loss)).toEqual(["seen"]);
  });

  test("the stream of a key ends at the next poll after the key is revoked", async () => {
    const { token } = home.owner;
    const key = (await world.call("POST", "/api/v1/keys", { token, body: { name: "Mirror", access: "read" } })).body;
    const listener = await follow("", { token: key.key });
    const loss = () => world.call("DELETE", `/api/v1/keys/${key.id}`, { token });
    expect(await receivedUntilLoss(listener, loss)).toEqual(["seen"]);
  });

  test("the stream of a member who loses access to the board ends, and other streams continue", async () => {
    const [person, other] = [await member(), await member({ read: true })];
    await world.db
      .insert(organization_board_access)
      .values({ organization_member_id: person.id, board_id, can_read: true, can_write: false });
    const listener = await follow("", { token: person.token });
    const kept = await follow("", { token: other.token });
    const accessRow = eq(organization_board_access.organization_member_id, person.id);
    expect(await receivedUntilLoss(listener, () => world.db.delete(organization_board_access).where(accessRow))).toEqual([
      "seen",
    ]);
    await kept.waitForEvents(2);
    await kept.close();
  });

  test("the stream of a deleted user ends, and the user is not created again", async () => {
    const person = await member({ read: true });
    const listener = await follow("", { token: person.token });
    const userRow = eq(users.auth_subject, person.subject);
    expect(await receivedUntilLoss(listener, () => world.db.delete(users).where(userRow))).toEqual(["seen"]);
    expect(await world.db.select().from(users).where(userRow)).toEqual([]);
  });

  test("a stream ends when the token it was opened with expires", async () => {
    const person = await member({ read: true });
    const seconds = Math.floor(Date.now() / 1000);
    const token = await world.identities.token(person.subject, { iat: seconds - 60, exp: seconds - 9 });
    const listener = await follow("", { token });
    expect(listener.status).toBe(200);
    await listener.waitForEnd();
  });

  test.each(["deleted", "deleting", "moved", "given another token"])(
    "the stream of an agent ends when the agent is %s",
    async (what) => {
      const { agent, board_id: agentBoard } = await addBoard(world, home, `For ${what}`);
      board_id = agentBoard;
      const listener = await follow("", { agent: agent.token });
      const row = eq(agents.id, agent.id);
      const loss = (): Promise<unknown> => {
        if (what === "deleted") return world.db.delete(agents).where(row);
        if (what === "deleting") return world.db.update(agents).set({ status: "deleting" }).where(row);
        if (what === "moved") return world.db.update(agents).set({ board_id: home.board_id }).where(row);
        return world.db.update(agents).set({ agent_token_lookup: "another" }).where(row);
      };
      expect(await receivedUntilLoss(listener, loss)).toEqual(["seen"]);
    },
  );

  test("the stream of a deleted board ends", async () => {
    const listener = await follow();
    await world.db.delete(boards).where(eq(boards.id, board_id));
    expect(await listener.waitForEnd()).toBe(true);
  });

  test("an open stream does not count as a heartbeat", async () => {
    const { agent, board_id: agentBoard } = await addBoard(world, home, "Quiet");
    board_id = agentBoard;
    const listener = await follow("", { agent: agent.token });
    const before = await world.db.select().from(agents).where(eq(agents.id, agent.id));
    world.elapse(60_000);
    await waitForPolls();
    expect(await world.db.select().from(agents).where(eq(agents.id, agent.id))).toEqual(before);
    await listener.close();
  });
});

describe("the end of a stream", () => {
  test("at the time limit the client learns when and from where to resume, and misses nothing", async () => {
    const short = await createWorld({ streams: { poll_ms: POLL_MS, max_seconds: 0.2 } });
    const tenant = await short.tenant("short");
    const at = (last?: string) =>
      listen((target, init) => short.app.request(target, init), streamPath(tenant.board_id), { token: tenant.owner.token, last });
    const post = (content: string) =>
      short.call("POST", `/api/v1/boards/${tenant.board_id}/memory`, { token: tenant.owner.token, body: { content } });
    const first = await at();
    await first.waitForEnd();
    expect(first.text).toMatch(/^id: [\w-]+\nretry: 20\n\n$/);
    await post("one");
    const second = await at(first.lastId());
    await post("two");
    await second.waitForEnd();
    // On a busy machine the second entry may come after the end of the second stream.
    const third = await at(second.lastId());
    await third.waitForEnd();
    expect([second, third].flatMap(contentsOf)).toEqual(["one", "two"]);
    expect(second.text).toMatch(/\n\nid: [\w-]+\nretry: 20\n\n$/);
    await short.close();
  });

  test("when the process stops, every stream ends at once and a new one ends after the stored events", async () => {
    const stopping = new AbortController();
    const other = await createWorld({ streams: { poll_ms: 60_000, shutdown_signal: stopping.signal } });
    const tenant = await other.tenant("other");
    const at = () =>
      listen((target, init) => other.app.request(target, init), streamPath(tenant.board_id, "?since=2000-01-01"), {
        token: tenant.owner.token,
      });
    const listeners = [await at(), await at()];
    stopping.abort();
    for (const listener of listeners) {
      await listener.waitForEnd();
      expect(listener.text).toMatch(/retry: 60000\n\n$/);
    }
    const late = await at();
    await late.waitForEnd();
    expect(late.text).toMatch(/^id: [\w-]+\nretry: 60000\n\n$/);
    await other.close();
  });
});

describe("a function that cannot stream", () => {
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
  const post = (content: string) =>
    edge.call("POST", `/api/v1/boards/${tenant.board_id}/memory`, { token: tenant.owner.token, body: { content } });
  const lastId = (text: string) => [...text.matchAll(/^id: (.*)$/gm)].at(-1)![1]!;
  const contents = (text: string) => [...text.matchAll(/^data: (.*)$/gm)].map((match) => JSON.parse(match[1]!).memory.content);

  test("a function that cannot stream answers with the stored events, and a client that resumes misses nothing", async () => {
    await post("before");
    const first = await ask();
    expect(first.text).toMatch(/^id: [\w-]+\nretry: 2000\n\n$/);
    await post("one");
    await post("two");
    const second = await ask("", lastId(first.text));
    expect(contents(second.text)).toEqual(["one", "two"]);
    expect((await ask("", lastId(second.text))).text).not.toContain("data:");
  });

  test("a function that cannot stream takes four statements for an answer, and sends a long history in portions", async () => {
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
