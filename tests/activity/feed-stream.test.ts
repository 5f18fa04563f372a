import { setTimeout as pause } from "node:timers/promises";
import { organization_board_access, organization_members, users } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { renew } from "../support/fixtures.ts";
import { addBoard } from "../support/board.ts";
import { FEED, grantRead, addReader, postComment, storeComments } from "../support/feed.ts";
import { setupTenants } from "../support/gateway-fixture.ts";
import { listen, type Listener } from "../support/sse.ts";
import { addTask } from "../support/task.ts";
import { createWorld } from "../support/world.ts";

const POLL_MS = 20;
const STREAM = `${FEED}/stream`;

let second: string;

/** A separate organization for each test, with two boards and a task on each. */
const { world, home } = await setupTenants({ streams: { poll_ms: POLL_MS } });
beforeEach(async () => {
  second = (await addBoard(world, home, "Second")).board_id;
});
const home_task = renew(() => addTask(world, home, { title: "Here" }));
const second_task = renew(() => addTask(world, { board_id: second }, { title: "There" }));

const follow = (query = "", token = home.owner.token, last?: string, path = STREAM) =>
  listen((target, init) => world.app.request(target, init), path + query, { token, last });
const messages = (listener: Listener) => listener.events().map(({ data }) => data.comment.message);
/** Waits long enough for several polls, which would deliver further events. */
const fewPolls = () => pause(POLL_MS * 6);
const withoutGrant = (member_id: string) =>
  world.db.delete(organization_board_access).where(eq(organization_board_access.organization_member_id, member_id));

describe("what the activity stream sends", () => {
  test("the stream sends every new comment in the form of the feed, at both paths of the stream", async () => {
    await postComment(world, home, home_task, "before");
    const [one, other] = [await follow(), await follow("", home.owner.token, undefined, "/api/activity/task-comments/stream")];
    await postComment(world, home, home_task, "first");
    await postComment(world, home, second_task, "second");
    const { items } = (await world.call("GET", `${FEED}?limit=2`, { token: home.owner.token })).body;
    for (const listener of [one, other]) {
      const events = await listener.waitForEvents(2);
      expect(events.map(({ event, data }) => ({ event, data }))).toEqual(
        items.toReversed().map((comment: object) => ({ event: "comment", data: { comment } })),
      );
      await listener.close();
    }
    expect(items[1]).toMatchObject({ message: "first", task_title: "Here", board_id: home.board_id });
  });

  test("a stream with Last-Event-ID resumes after that event", async () => {
    const first = await follow();
    await postComment(world, home, home_task, "one");
    await first.waitForEvents(1);
    await first.close();
    await postComment(world, home, second_task, "two");
    const resumed = await follow("?since=2000-01-01", home.owner.token, first.lastId());
    await resumed.waitForEvents(1);
    await postComment(world, home, home_task, "three");
    await resumed.waitForEvents(2);
    await fewPolls();
    expect(messages(resumed)).toEqual(["two", "three"]);
    await resumed.close();
  });

  test("the stream starts with comments written at or after the parameter since, and skips imported comments with a blank text", async () => {
    const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 12, 0, second));
    await storeComments(
      world,
      home,
      home_task,
      [0, 1, 2].map((n) => ({ message: `at ${n}`, created_at: at(n) })),
    );
    await storeComments(world, home, home_task, [
      { message: "\u00a0\n" },
      { message: null },
      { message: "x", event_type: "task.created" },
    ]);
    await storeComments(world, home, null, [{ message: "of no task", board_id: home.board_id }]);
    const granted = await addReader(world, home, `since of ${home.owner.subject}`, [home.board_id]);
    for (const token of [home.owner.token, granted.token])
      for (const since of ["2026-01-01T12:00:01Z", "2026-01-01T14:00:01 02:00", "2026-01-01T12:00:01"]) {
        const listener = await follow(`?since=${since}`, token);
        await listener.waitForEvents(2);
        await fewPolls();
        expect(messages(listener), since).toEqual(["at 1", "at 2"]);
        await listener.close();
      }
  });

  test("the stream can be limited to one board", async () => {
    const listener = await follow(`?board_id=${second.toUpperCase()}`);
    await postComment(world, home, home_task, "elsewhere");
    await postComment(world, home, second_task, "there");
    await listener.waitForEvents(1);
    await fewPolls();
    expect(messages(listener)).toEqual(["there"]);
    await listener.close();
  });

  test("an invalid request for a stream gets an ordinary error response before the first byte", async () => {
    const closed = await addReader(world, home, `closed of ${home.owner.subject}`, [home.board_id]);
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

describe("who receives which comments", () => {
  test("a reader receives the comments of the boards they may read, and none of another organization", async () => {
    const abroad = await world.tenant(`abroad of ${home.owner.subject}`);
    const foreign_task = await addTask(world, abroad);
    const person = async (name: string, flags: object, board_ids: string[], role: "admin" | "member" = "member") => {
      const made = await world.person(`${name} of ${home.owner.subject}`);
      await grantRead(world, await world.join(made, home.organization_id, role, flags), board_ids);
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
    await postComment(world, abroad, foreign_task, "abroad");
    await postComment(world, home, home_task, "here");
    await postComment(world, home, second_task, "there");
    await Promise.all([listeners.all, listeners.writes, listeners.both].map((one) => one.waitForEvents(2)));
    await listeners.one.waitForEvents(1);
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

  test("granting or withdrawing a board changes what a stream sends from the next poll on", async () => {
    const person = await addReader(world, home, `changing of ${home.owner.subject}`, [home.board_id]);
    const listener = await follow("", person.token);
    await postComment(world, home, second_task, "not yet");
    await postComment(world, home, home_task, "1");
    await listener.waitForEvents(1);
    await grantRead(world, person.member_id, [second]);
    await fewPolls();
    await postComment(world, home, second_task, "2");
    await listener.waitForEvents(2);
    await withoutGrant(person.member_id);
    await postComment(world, home, home_task, "secret");
    await fewPolls();
    await grantRead(world, person.member_id, [second]);
    await fewPolls();
    await postComment(world, home, home_task, "secret");
    await postComment(world, home, second_task, "3");
    await listener.waitForEvents(3);
    await world.db
      .update(organization_members)
      .set({ all_boards_read: true })
      .where(eq(organization_members.id, person.member_id));
    await fewPolls();
    await postComment(world, home, home_task, "4");
    await listener.waitForEvents(4);
    await fewPolls();
    expect(messages(listener)).toEqual(["1", "2", "3", "4"]);
    await listener.close();
  });

  test("a reader who loses the membership or the board receives nothing written afterwards, and the stream ends", async () => {
    const losses: [string, string, (person: { member_id: string; subject: string }) => Promise<unknown>][] = [
      ["board", `?board_id=${home.board_id}`, ({ member_id }) => withoutGrant(member_id)],
      ["member", "", ({ member_id }) => world.db.delete(organization_members).where(eq(organization_members.id, member_id))],
      ["person", "", ({ subject }) => world.db.delete(users).where(eq(users.auth_subject, subject))],
    ];
    for (const [name, query, lose] of losses) {
      const person = await addReader(world, home, `${name} of ${home.owner.subject}`, [home.board_id]);
      const kept = await follow();
      const listener = await follow(query, person.token);
      await postComment(world, home, home_task, "seen");
      await listener.waitForEvents(1);
      await lose(person);
      await postComment(world, home, home_task, "secret");
      await listener.waitForEnd();
      expect([messages(listener), listener.text.includes("retry:")], name).toEqual([["seen"], false]);
      await kept.waitForEvents(2);
      await kept.close();
    }
  });

  test("readers with the same access share a poll, and one statement checks the access of all of them", async () => {
    const both = [home.board_id, second];
    const alike = await Promise.all(
      [1, 2, 3, 4, 5, 6].map((n) => addReader(world, home, `alike of ${home.owner.subject} ${n}`, both)),
    );
    const others = await Promise.all(
      [1, 2, 3, 4, 5, 6].map(async (n) => {
        const person = await world.member(`others of ${home.owner.subject} ${n}`, home, "member", { read: true });
        return person;
      }),
    );
    const listeners = await Promise.all([...alike, ...others].map(({ token }) => follow("", token)));
    await fewPolls();
    const count = (text: string) => world.statements.filter((one) => one.includes(text)).length;
    world.statements.length = 0;
    await vi.waitUntil(() => count("pg_snapshot_xmin") > 20, { timeout: 10_000, interval: 1 });
    // A poll that began before the count may send its last statements afterwards.
    const rounds = count("pg_snapshot_xmin") + 1;
    // Each group of readers needs a statement for its users, and one group also needs a statement for its boards.
    expect(count('from "users"')).toBeLessThanOrEqual(rounds * 2);
    expect(count("array_agg(board.id")).toBeLessThanOrEqual(rounds);
    expect(world.statements.length).toBeLessThanOrEqual(rounds * 4);
    world.statements.length = 0;
    await postComment(world, home, home_task, "hello");
    for (const listener of listeners) expect((await listener.waitForEvents(1)).length).toBe(1);
    await fewPolls();
    // A poll during the insert of the comment may not see it yet, and then a later poll reads it.
    expect(count('"agents"."identity_profile"')).toBeLessThanOrEqual(6);
    await Promise.all(listeners.map((listener) => listener.close()));
  });
});

test("pings keep a stream open, and the retry hint is sent only when the server ends the stream", async () => {
  const stopping = new AbortController();
  const other = await createWorld({ streams: { poll_ms: POLL_MS, ping_ms: 30, shutdown_signal: stopping.signal } });
  const tenant = await other.tenant("stopping");
  const listener = await listen((target, init) => other.app.request(target, init), STREAM, { token: tenant.owner.token });
  await postComment(other, tenant, await addTask(other, tenant), "hello");
  await listener.waitForEvents(1);
  await listener.waitForText(": ping\n\n");
  expect(listener.text).not.toContain("retry:");
  stopping.abort();
  await listener.waitForEnd();
  expect(listener.text).toMatch(/\n\nid: [\w-]+\nretry: 20\n\n$/);
  await other.close();
});
