import { setTimeout as pause } from "node:timers/promises";
import { activity_events, agents, tag_assignments, tags, task_dependencies, tasks } from "@board/core/schema/all-tables";
import { TaskEvent } from "@board/core/task/stream";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { listen, type Listener, type ListenOptions } from "../support/sse.ts";
import { addTask, type TaskRow } from "../support/task.ts";
import { setupWorld } from "../support/fixtures.ts";

const POLL_MS = 20;

let board: { board_id: string; agent: { id: string; token: string } };
let task: TaskRow;

const world = await setupWorld({ streams: { poll_ms: POLL_MS } });
const home = await world.tenant("home");

let boardCount = 0;
beforeEach(async () => {
  board = await addBoard(world, home, `Board ${++boardCount}`);
  task = await addTask(world, board);
});

const owner = { token: home.owner.token };
const streamPath = (query = "", board_id = board.board_id) => `/api/v1/boards/${board_id}/tasks/stream${query}`;
const follow = (query = "", options: ListenOptions = owner) =>
  listen((target, init) => world.app.request(target, init), streamPath(query), options);
const tasksPath = (rest = "") => `/api/v1/boards/${board.board_id}/tasks${rest}`;
const comment = async (content: string, who: { token?: string; agent?: string } = { token: home.owner.token }) =>
  (await world.call("POST", tasksPath(`/${task.id}/comments`), { ...who, body: { content } })).body;
const read = async (id = task.id) => (await world.call("GET", tasksPath(`/${id}`), { token: home.owner.token })).body;
/** Records an event without the change that would cause it. */
const record = async (event_type: string, fields: Partial<typeof activity_events.$inferInsert> = {}) => {
  const event = { organization_id: home.organization_id, board_id: board.board_id, task_id: task.id, message: event_type };
  const [row] = await world.db
    .insert(activity_events)
    .values({ ...event, event_type, ...fields })
    .returning();
  return row!;
};
const dataOf = (listener: Listener) => listener.events().map(({ data }) => data);
const messagesOf = (listener: Listener) => dataOf(listener).map(({ activity }) => activity.message);
/** Waits for several polls, which would send unexpected events. */
const fewPolls = () => pause(POLL_MS * 6);

describe("events of the task stream", () => {
  test.each(["task.created", "task.updated", "task.status_changed"])(
    "an event of type %s has the activity and the task",
    async (type) => {
      const listener = await follow();
      const { id, created_at } = await record(type, { message: "It happened.", agent_id: board.agent.id });
      await listener.waitForEvents(1);
      const activity = {
        id,
        event_type: type,
        message: "It happened.",
        agent_id: board.agent.id,
        task_id: task.id,
        created_at: created_at.toISOString(),
      };
      const data = { type, activity, task: await read() };
      expect(listener.text).toBe(`id: ${listener.lastId()}\nevent: task\ndata: ${JSON.stringify(data)}\n\n`);
      await listener.close();
    },
  );

  test("a comment event has the comment as listed", async () => {
    const listener = await follow();
    const posted = [await comment("By a person\u2028in lines\n"), await comment("By an agent", { agent: board.agent.token })];
    await listener.waitForEvents(2);
    const history = (await world.call("GET", tasksPath(`/${task.id}/comments`), { token: home.owner.token })).body.items;
    expect(history).toEqual(posted);
    expect(dataOf(listener)).toEqual(
      posted.map((comment) => ({
        type: "task.comment",
        activity: {
          id: comment.id,
          event_type: "task.comment",
          message: comment.message,
          agent_id: comment.agent_id,
          task_id: task.id,
          created_at: comment.created_at,
        },
        comment,
      })),
    );
    await listener.close();
  });

  test("an event has the task with its tags and dependencies", async () => {
    const other = await addTask(world, board, { title: "Other" });
    const [tag] = await world.db
      .insert(tags)
      .values({ organization_id: home.organization_id, name: "Tag", slug: `tag-${boardCount}`, color: "00ff00" })
      .returning();
    await world.db.insert(tag_assignments).values({ task_id: task.id, tag_id: tag!.id, position: 0 });
    const link = { board_id: board.board_id, task_id: task.id, depends_on_task_id: other.id, position: 0 };
    await world.db.insert(task_dependencies).values(link);
    const listener = await follow();
    await record("task.updated");
    await listener.waitForEvents(1);
    const [{ task: shown }] = dataOf(listener);
    expect(shown).toMatchObject({ tags: [{ name: "Tag" }], blocked_by_task_ids: [other.id], is_blocked: true });
    expect(shown).toEqual(await read());
    await listener.close();
  });

  test("an event sent later has the task in its current state, or null when it was deleted", async () => {
    const gone = await addTask(world, board, { title: "Gone" });
    await record("task.created", { task_id: gone.id, message: "made" });
    await record("task.updated", { message: "changed" });
    await world.db.delete(tasks).where(eq(tasks.id, gone.id));
    await world.db.update(tasks).set({ title: "Newer" }).where(eq(tasks.id, task.id));
    const listener = await follow("?since=2000-01-01");
    await listener.waitForEvents(2);
    expect(dataOf(listener)).toMatchObject([
      { type: "task.created", activity: { message: "made", task_id: null }, task: null },
      { type: "task.updated", activity: { message: "changed", task_id: task.id }, task: { title: "Newer" } },
    ]);
    await listener.close();
  });

  test("every event has the documented shape", async () => {
    await record("task.created");
    await record("task.updated", { message: null });
    await record("task.status_changed", { task_id: null });
    await comment("hello");
    const listener = await follow("?since=2000-01-01");
    await listener.waitForEvents(4);
    for (const data of dataOf(listener)) expect(TaskEvent.parse(data)).toEqual(data);
    await listener.close();
  });
});

describe("events that the task stream includes", () => {
  test("the stream sends four event types and no others", async () => {
    const listener = await follow("?since=2000-01-01");
    for (const type of [
      "task.assigned",
      "task.priority_changed",
      "task.deleted",
      "task.assignee_woken",
      "task.lead_notified",
      "approval.created",
      "agent.heartbeat",
      "task.comments",
    ])
      await record(type);
    for (const type of ["task.created", "task.status_changed", "task.updated"]) await record(type);
    await comment("hello");
    await listener.waitForEvents(4);
    await fewPolls();
    expect(dataOf(listener).map(({ type }) => type)).toEqual([
      "task.created",
      "task.status_changed",
      "task.updated",
      "task.comment",
    ]);
    await listener.close();
  });

  test("the stream sends tasks of its board only", async () => {
    const listener = await follow("?since=2000-01-01");
    const other = await addBoard(world, home, `Other ${boardCount}`);
    const elsewhere = await addTask(world, other);
    await record("task.created", { board_id: other.board_id, task_id: elsewhere.id });
    // An event of this board that names a task of another board is sent without the task.
    await record("task.updated", { task_id: elsewhere.id, message: "mixed up" });
    await record("task.updated", { message: "own" });
    await listener.waitForEvents(2);
    await fewPolls();
    expect(dataOf(listener)).toMatchObject([
      { activity: { message: "mixed up" }, task: null },
      { activity: { message: "own" }, task: { id: task.id } },
    ]);
    await listener.close();
  });

  test("the stream does not send a comment whose task was deleted", async () => {
    await comment("of a removed task");
    await world.db.delete(tasks).where(eq(tasks.id, task.id));
    task = await addTask(world, board);
    await comment("of a task");
    const listener = await follow("?since=2000-01-01");
    await listener.waitForEvents(1);
    await fewPolls();
    expect(messagesOf(listener)).toEqual(["of a task"]);
    await listener.close();
  });
});

describe("where the task stream starts", () => {
  test("a stream starts at the present or after the client's last event", async () => {
    await record("task.created", { message: "before" });
    const first = await follow();
    await fewPolls();
    await record("task.updated", { message: "one" });
    await first.waitForEvents(1);
    await first.close();
    await comment("two");
    await record("task.updated", { message: "three" });
    const second = await follow("?since=2000-01-01", { ...owner, last: first.lastId() });
    await second.waitForEvents(2);
    await record("task.updated", { message: "four" });
    await second.waitForEvents(3);
    await fewPolls();
    expect([messagesOf(first), messagesOf(second)]).toEqual([["one"], ["two", "three", "four"]]);
    await second.close();
  });

  test("the parameter since of the task stream selects events strictly after that time", async () => {
    const at = (ms: number) => new Date(Date.UTC(2026, 0, 1, 12, 0, 1, ms));
    for (const ms of [0, 1, 2]) await record("task.updated", { message: `at ${ms}`, created_at: at(ms) });
    const listener = await follow("?since=2026-01-01T14:00:01.001+02:00");
    await listener.waitForEvents(1);
    await record("task.updated", { message: "now" });
    await listener.waitForEvents(2);
    expect(messagesOf(listener)).toEqual(["at 2", "now"]);
    await listener.close();
  });

  test("a page that sends the time of its newest task as since does not get that task again", async () => {
    const body = { title: "Renamed", comment: "With a comment" };
    const changed = (await world.call("PATCH", tasksPath(`/${task.id}`), { token: home.owner.token, body })).body;
    const listener = await follow(`?since=${changed.updated_at}`);
    await fewPolls();
    await comment("later");
    await listener.waitForEvents(1);
    expect(messagesOf(listener)).toEqual(["later"]);
    await listener.close();
  });

  test("a long history is sent completely, in order and once", async () => {
    const rows = Array.from({ length: 450 }, (_, index) => ({
      organization_id: home.organization_id,
      board_id: board.board_id,
      task_id: task.id,
      event_type: index % 3 === 0 ? "task.comment" : index % 3 === 1 ? "agent.heartbeat" : "task.updated",
      message: `${index}`,
    }));
    await world.db.insert(activity_events).values(rows);
    const listener = await follow("?since=2000-01-01");
    await listener.waitForEvents(300);
    await fewPolls();
    expect(messagesOf(listener)).toEqual(
      rows.filter(({ event_type }) => event_type !== "agent.heartbeat").map(({ message }) => message),
    );
    await listener.close();
  });

  test.each(["yesterday", "2026-13-01", "0"])("the value %s of since is refused", async (since) => {
    const refused = await world.call("GET", streamPath(`?since=${since}`), { token: home.owner.token });
    expect([refused.status, refused.body.detail]).toMatchObject([422, [{ type: "datetime_parsing", loc: ["query", "since"] }]]);
  });
});

describe("access to the task stream", () => {
  test("the stream's path is not taken for a task id", async () => {
    const head = await world.call("HEAD", streamPath(), { token: home.owner.token });
    expect([head.status, head.headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
  });

  test("people and agents who may read the board can follow its tasks", async () => {
    const reader = await world.member(`reader ${boardCount}`, home, "member", { read: true });
    const stranger = await world.member(`stranger ${boardCount}`, home);
    const neighbour = (await addBoard(world, home, `Neighbour ${boardCount}`)).agent;
    for (const who of [{ token: reader.token }, { agent: board.agent.token }]) {
      const listener = await follow("", who);
      await record("task.updated", { message: "seen" });
      await listener.waitForEvents(1);
      await listener.close();
    }
    for (const [who, status] of [
      [{ token: stranger.token }, 404],
      [{ agent: neighbour.token }, 403],
      [{}, 401],
    ] as const)
      for (const query of ["", "?since=yesterday"]) expect((await world.call("GET", streamPath(query), who)).status).toBe(status);
  });

  test("the stream ends when the agent loses access to the board", async () => {
    const listener = await follow("", { agent: board.agent.token });
    await record("task.updated", { message: "seen" });
    await listener.waitForEvents(1);
    await world.db.update(agents).set({ board_id: home.board_id }).where(eq(agents.id, board.agent.id));
    await record("task.updated", { message: "secret" });
    await listener.waitForEnd();
    expect(messagesOf(listener)).toEqual(["seen"]);
  });
});

test("all streams of a board share a poll, and one statement reads the events with their tasks", async () => {
  const listeners = [await follow(), await follow(), await follow("", { agent: board.agent.token })];
  await fewPolls();
  world.statements.length = 0;
  await record("task.updated");
  for (const listener of listeners) await listener.waitForEvents(1);
  const reads = world.statements.filter((text) => text.startsWith("select") && text.includes('from "activity_events"'));
  const polls = world.statements.filter((statement) => statement.includes("pg_snapshot_xmin"));
  expect(reads.length).toBeGreaterThanOrEqual(1);
  expect(reads.length).toBeLessThanOrEqual(polls.length);
  expect(world.statements.filter((statement) => statement.includes('from "tasks"'))).toEqual([]);
  for (const listener of listeners) await listener.close();
});
