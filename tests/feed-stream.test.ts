import { setTimeout as pause } from "node:timers/promises";
import { organization_board_access, organization_members, users } from "@board/core/db/schema";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { addBoard } from "./support/board.ts";
import { FEED, grant, reader, say, storeComments } from "./support/feed.ts";
import { tenantsOfOneWorld } from "./support/office.ts";
import { listen, type Listener } from "./support/sse.ts";
import { addTask, type TaskRow } from "./support/task.ts";
import { createWorld, type Tenant, type World } from "./support/world.ts";

const POLL_MS = 20;
const STREAM = `${FEED}/stream`;

let world: World;
/** An organization of its own for each test, with two boards and a task on each. */
let home: Tenant;
let second: string;
let here: TaskRow;
let there: TaskRow;

const openTenant = tenantsOfOneWorld({ streams: { poll_ms: POLL_MS } });
beforeEach(async () => {
  ({ world, home } = await openTenant());
  second = (await addBoard(world, home, "Second")).board_id;
  here = await addTask(world, home, { title: "Here" });
  there = await addTask(world, { board_id: second }, { title: "There" });
});

const follow = (query = "", token = home.owner.token, last?: string, path = STREAM) =>
  listen((target, init) => world.app.request(target, init), path + query, { token, last });
const messages = (listener: Listener) => listener.events().map(({ data }) => data.comment.message);
/** Long enough for polls that would bring more. */
const fewPolls = () => pause(POLL_MS * 6);
const withoutGrant = (member_id: string) =>
  world.db.delete(organization_board_access).where(eq(organization_board_access.organization_member_id, member_id));

describe("what is followed", () => {
  test("is every new comment, as the feed shows it, at both addresses", async () => {
    await say(world, home, here, "before");
    const [one, other] = [await follow(), await follow("", home.owner.token, undefined, "/api/activity/task-comments/stream")];
    await say(world, home, here, "first");
    await say(world, home, there, "second");
    const { items } = (await world.call("GET", `${FEED}?limit=2`, { token: home.owner.token })).body;
    for (const listener of [one, other]) {
      const events = await listener.receives(2);
      expect(events.map(({ event, data }) => ({ event, data }))).toEqual(
        items.toReversed().map((comment: object) => ({ event: "comment", data: { comment } })),
      );
      await listener.close();
    }
    expect(items[1]).toMatchObject({ message: "first", task_title: "Here", board_id: home.board_id });
  });

  test("goes on after the last event that the client has", async () => {
    const first = await follow();
    await say(world, home, here, "one");
    await first.receives(1);
    await first.close();
    await say(world, home, there, "two");
    const resumed = await follow("?since=2000-01-01", home.owner.token, first.lastId());
    await resumed.receives(1);
    await say(world, home, here, "three");
    await resumed.receives(2);
    await fewPolls();
    expect(messages(resumed)).toEqual(["two", "three"]);
    await resumed.close();
  });

  test("starts with what was written at or after since, without words that an import left blank", async () => {
    const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 12, 0, second));
    await storeComments(
      world,
      home,
      here,
      [0, 1, 2].map((n) => ({ message: `at ${n}`, created_at: at(n) })),
    );
    await storeComments(world, home, here, [
      { message: "\u00a0\n" },
      { message: null },
      { message: "x", event_type: "task.created" },
    ]);
    await storeComments(world, home, null, [{ message: "of no task", board_id: home.board_id }]);
    const granted = await reader(world, home, `since of ${home.owner.subject}`, [home.board_id]);
    for (const token of [home.owner.token, granted.token])
      for (const since of ["2026-01-01T12:00:01Z", "2026-01-01T14:00:01 02:00", "2026-01-01T12:00:01"]) {
        const listener = await follow(`?since=${since}`, token);
        await listener.receives(2);
        await fewPolls();
        expect(messages(listener), since).toEqual(["at 1", "at 2"]);
        await listener.close();
      }
  });

  test("can be one board", async () => {
    const listener = await follow(`?board_id=${second.toUpperCase()}`);
    await say(world, home, here, "elsewhere");
    await say(world, home, there, "there");
    await listener.receives(1);
    await fewPolls();
    expect(messages(listener)).toEqual(["there"]);
    await listener.close();
  });

  test("is refused with an ordinary answer before the first byte", async () => {
    const closed = await reader(world, home, `closed of ${home.owner.subject}`, [home.board_id]);
    const abroad = await world.tenant(`abroad of ${home.owner.subject}`);
    const status = async (query: string, token?: string) =>
      (await world.call("GET", STREAM + query, token ? { token } : {})).status;
    expect([
      await status(""),
      await status("", home.worker.token),
      await status(`?board_id=${crypto.randomUUID()}`, home.owner.token),
      await status(`?board_id=${abroad.board_id}`, home.owner.token),
      await status(`?board_id=${second}`, closed.token),
      await status("?board_id=second", home.owner.token),
      await status("?since=yesterday", home.owner.token),
    ]).toEqual([401, 401, 404, 404, 404, 422, 422]);
  });
});

describe("who follows", () => {
  test("gets the comments of the boards that are open to them, and of no other organization", async () => {
    const abroad = await world.tenant(`abroad of ${home.owner.subject}`);
    const faraway = await addTask(world, abroad);
    const person = async (name: string, flags: object, board_ids: string[], role: "admin" | "member" = "member") => {
      const made = await world.person(`${name} of ${home.owner.subject}`);
      await grant(world, await world.join(made, home.organization_id, role, flags), board_ids);
      return follow("", made.token);
    };
    const listeners = {
      all: await person("reads all", { read: true }, []),
      writes: await person("writes all", { write: true }, []),
      one: await person("has one", {}, [second]),
      both: await person("has both", {}, [second, home.board_id]),
      none: await person("has none", {}, []),
      admin: await person("administers", {}, [], "admin"),
    };
    await say(world, abroad, faraway, "abroad");
    await say(world, home, here, "here");
    await say(world, home, there, "there");
    await Promise.all([listeners.all, listeners.writes, listeners.both].map((one) => one.receives(2)));
    await listeners.one.receives(1);
    await fewPolls();
    expect(Object.fromEntries(Object.entries(listeners).map(([name, one]) => [name, messages(one)]))).toEqual({
      all: ["here", "there"],
      writes: ["here", "there"],
      one: ["there"],
      both: ["here", "there"],
      none: [],
      admin: [],
    });
    await Promise.all(Object.values(listeners).map((one) => one.close()));
  });

  test("gets more or less from the next poll on when boards are granted or withdrawn", async () => {
    const person = await reader(world, home, `changing of ${home.owner.subject}`, [home.board_id]);
    const listener = await follow("", person.token);
    await say(world, home, there, "not yet");
    await say(world, home, here, "1");
    await listener.receives(1);
    await grant(world, person.member_id, [second]);
    await fewPolls();
    await say(world, home, there, "2");
    await listener.receives(2);
    await withoutGrant(person.member_id);
    await say(world, home, here, "secret");
    await fewPolls();
    await grant(world, person.member_id, [second]);
    await fewPolls();
    await say(world, home, here, "secret");
    await say(world, home, there, "3");
    await listener.receives(3);
    await world.db
      .update(organization_members)
      .set({ all_boards_read: true })
      .where(eq(organization_members.id, person.member_id));
    await fewPolls();
    await say(world, home, here, "4");
    await listener.receives(4);
    await fewPolls();
    expect(messages(listener)).toEqual(["1", "2", "3", "4"]);
    await listener.close();
  });

  test("gets nothing that was written after the membership or the board of the stream was lost, and the stream ends", async () => {
    const losses: [string, string, (person: { member_id: string; subject: string }) => Promise<unknown>][] = [
      ["board", `?board_id=${home.board_id}`, ({ member_id }) => withoutGrant(member_id)],
      ["member", "", ({ member_id }) => world.db.delete(organization_members).where(eq(organization_members.id, member_id))],
      ["person", "", ({ subject }) => world.db.delete(users).where(eq(users.auth_subject, subject))],
    ];
    for (const [name, query, lose] of losses) {
      const person = await reader(world, home, `${name} of ${home.owner.subject}`, [home.board_id]);
      const kept = await follow();
      const listener = await follow(query, person.token);
      await say(world, home, here, "seen");
      await listener.receives(1);
      await lose(person);
      await say(world, home, here, "secret");
      await listener.ends();
      expect([messages(listener), listener.text.includes("retry:")], name).toEqual([["seen"], false]);
      await kept.receives(2);
      await kept.close();
    }
  });

  test("shares a poll with all who see the same, and is looked up with them in one statement", async () => {
    const both = [home.board_id, second];
    const alike = await Promise.all(
      [1, 2, 3, 4, 5, 6].map((n) => reader(world, home, `alike of ${home.owner.subject} ${n}`, both)),
    );
    const others = await Promise.all(
      [1, 2, 3, 4, 5, 6].map(async (n) => {
        const person = await world.person(`others of ${home.owner.subject} ${n}`);
        await world.join(person, home.organization_id, "member", { read: true });
        return person;
      }),
    );
    const listeners = await Promise.all([...alike, ...others].map(({ token }) => follow("", token)));
    await fewPolls();
    const count = (text: string) => world.statements.filter((one) => one.includes(text)).length;
    world.statements.length = 0;
    await vi.waitUntil(() => count("pg_snapshot_xmin") > 20, { timeout: 10_000, interval: 1 });
    const rounds = count("pg_snapshot_xmin");
    // For each of the two kinds of sight the people of it, and for one of them what they see.
    expect(count('from "users"')).toBeLessThanOrEqual(rounds * 2);
    expect(count("array_agg(board.id")).toBeLessThanOrEqual(rounds);
    expect(world.statements.length).toBeLessThanOrEqual(rounds * 4);
    world.statements.length = 0;
    await say(world, home, here, "hello");
    for (const listener of listeners) expect((await listener.receives(1)).length).toBe(1);
    await fewPolls();
    // The polls of a comment under way may find it not yet committed.
    expect(count('"agents"."identity_profile"')).toBeLessThanOrEqual(6);
    await Promise.all(listeners.map((listener) => listener.close()));
  });
});

test("pings keep it awake, and it is told when to come back only when the server ends it", async () => {
  const stopping = new AbortController();
  const other = await createWorld({ streams: { poll_ms: POLL_MS, ping_ms: 30, stopping: stopping.signal } });
  const tenant = await other.tenant("stopping");
  const listener = await listen((target, init) => other.app.request(target, init), STREAM, { token: tenant.owner.token });
  await say(other, tenant, await addTask(other, tenant), "hello");
  await listener.receives(1);
  await listener.sees(": ping\n\n");
  expect(listener.text).not.toContain("retry:");
  stopping.abort();
  await listener.ends();
  expect(listener.text).toMatch(/\n\nid: [\w-]+\nretry: 20\n\n$/);
  await other.close();
});
