import { activity_events, organization_board_access, organization_members, tasks } from "@board/core/schema/all-tables";
import { scheduled } from "@board/api/work/schedules";
import { and, eq } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import { setup, setupWorld } from "../support/fixtures.ts";
import { addEvents, clearLog, type EventRow } from "../support/activity.ts";
import { addBoard } from "../support/board.ts";
import { grantRead } from "../support/feed.ts";
import type { CallOptions } from "../support/http.ts";
import { actAsMainAgent } from "../support/main-agent.ts";
import { addTask } from "../support/task.ts";
import { openTestDatabase, type Person, type World } from "../support/world.ts";

const statements: string[] = [];
const database = await setup(openTestDatabase(statements));
const world = await setupWorld({ database });
/** The same service with ACTIVITY_READERS=member. */
const open = await setupWorld({ database, environment: { ACTIVITY_READERS: "member" } });
const home = await world.tenant("home");
const abroad = await world.tenant("abroad");
const other = await addBoard(world, home);
const main = await actAsMainAgent(world, home.gateway_id);
// Each agent sends its first request here, because that request is recorded and the lists in these tests must hold only their own
// events.
for (const { token } of [home.lead, home.worker, main, other.agent, abroad.worker])
  await world.call("GET", "/api/v1/agent/healthz", { agent: token });

beforeEach(() => clearLog(world));

const add = (...events: Parameters<typeof addEvents>[2]) => addEvents(world, home, events);
const list = async (who: CallOptions, query = "", at: World = world) => {
  const answer = await at.call("GET", `/api/v1/activity${query}`, who);
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
};
const ids = (items: { id: string }[]) => items.map(({ id }) => id);
const owner = (): CallOptions => ({ token: home.owner.token });

/** Adds a member with rights on these boards. By default, the service is the one where members may read the list. */
async function addPerson(
  subject: string,
  role: "admin" | "member",
  { boards = [], ...flags }: { read?: boolean; write?: boolean; boards?: string[] },
  at: World = open,
): Promise<Person> {
  const person = await at.person(subject);
  await grantRead(world, await at.join(person, home.organization_id, role, flags), boards);
  return person;
}

test("an event is shown with all its fields, and its actor is the agent rather than the user", async () => {
  const task = await addTask(world, home);
  const [user] = await world.db
    .select()
    .from(organization_members)
    .where(eq(organization_members.organization_id, home.organization_id));
  const { board_id, worker } = home;
  const [both, person] = await add(
    {
      event_type: "task.created",
      message: "Made",
      board_id,
      task_id: task.id,
      agent_id: worker.id,
      user_id: user!.user_id,
      created_at: new Date("2026-11-20T10:24:09.799Z"),
    },
    { event_type: "agent.error", message: null, user_id: user!.user_id, created_at: new Date("2026-11-20T10:24:09.798Z") },
  );
  expect((await list(owner())).items).toEqual([
    {
      id: both!.id,
      event_type: "task.created",
      action: "created",
      message: "Made",
      board_id,
      task_id: task.id,
      agent_id: worker.id,
      user_id: user!.user_id,
      actor_id: worker.id,
      created_at: "2026-11-20T10:24:09.799Z",
      route_name: "board",
      route_params: { boardId: board_id, taskId: task.id },
    },
    {
      id: person!.id,
      event_type: "agent.error",
      action: "updated",
      message: null,
      board_id: null,
      task_id: null,
      agent_id: null,
      user_id: user!.user_id,
      actor_id: user!.user_id,
      created_at: "2026-11-20T10:24:09.798Z",
      route_name: "activity",
      route_params: { eventId: person!.id, eventType: "agent.error", createdAt: "2026-11-20T10:24:09.798Z" },
    },
  ]);
});

test.each([
  ["task.created", "created"],
  ["approval.requested", "created"],
  ["task.comment", "created"],
  ["task.deleted", "deleted"],
  ["agent.delete.direct", "deleted"],
  ["agent.delete.failed", "updated"],
  ["task.updated", "updated"],
  ["agent.heartbeat", "updated"],
  ["agent.provision.direct", "updated"],
])("an event of the type %s has the action %s", async (event_type, action) => {
  await add({ event_type });
  expect((await list(owner())).items).toMatchObject([{ event_type, action }]);
});

type Named = (event: EventRow) => Record<string, string>;
test.each<[string, boolean, boolean, string, Named]>([
  ["task.comment", true, true, "board", (event) => ({ boardId: event.board_id!, taskId: event.task_id!, commentId: event.id })],
  ["task.comment", true, false, "board", (event) => ({ boardId: event.board_id! })],
  ["approval.created", true, true, "board.approvals", (event) => ({ boardId: event.board_id! })],
  ["approval.lead_notify_failed", true, false, "board.approvals", (event) => ({ boardId: event.board_id! })],
  ["board.lead_notified", true, true, "board", (event) => ({ boardId: event.board_id!, panel: "chat" })],
  ["board.group.join.notified", true, false, "board", (event) => ({ boardId: event.board_id!, panel: "chat" })],
  ["task.updated", true, true, "board", (event) => ({ boardId: event.board_id!, taskId: event.task_id! })],
  ["agent.heartbeat", true, false, "board", (event) => ({ boardId: event.board_id! })],
  [
    "approval.created",
    false,
    false,
    "activity",
    (event) => ({ eventId: event.id, eventType: event.event_type, createdAt: event.created_at.toISOString() }),
  ],
  [
    "task.updated",
    false,
    true,
    "activity",
    (event) => ({
      eventId: event.id,
      eventType: event.event_type,
      createdAt: event.created_at.toISOString(),
      taskId: event.task_id!,
    }),
  ],
])(
  "an event of the type %s (on a board: %s, of a task: %s) has the route %s",
  async (event_type, onBoard, ofTask, route_name, params) => {
    const task = ofTask ? await addTask(world, home) : null;
    const [event] = await add({ event_type, board_id: onBoard ? home.board_id : null, task_id: task?.id ?? null });
    expect((await list(owner())).items).toMatchObject([{ route_name, route_params: params(event!) }]);
  },
);

test("an agent sees only the events about itself, on any board", async () => {
  const { board_id, worker, lead } = home;
  const [here, there, gone, of_main] = await add(
    { board_id, agent_id: worker.id },
    { board_id: other.board_id, agent_id: worker.id },
    { agent_id: worker.id },
    { agent_id: main.id },
    { board_id, agent_id: lead.id },
    { board_id },
    {},
  );
  await addEvents(world, abroad, [{ board_id: abroad.board_id, agent_id: abroad.worker.id }]);
  const seen = await list({ agent: worker.token });
  expect([ids(seen.items).toSorted(), seen.total]).toEqual([ids([here!, there!, gone!]).toSorted(), 3]);
  // A main agent sees no more than other agents.
  expect(ids((await list({ agent: main.token })).items)).toEqual([of_main!.id]);
  expect(await list({ agent: other.agent.token })).toEqual({ items: [], total: 0, limit: 50, offset: 0 });
});

test("members see the events of boards that they may read, and admins also the events without a board", async () => {
  const [here, there, none] = await add({ board_id: home.board_id }, { board_id: other.board_id }, {});
  await addEvents(world, abroad, [{ board_id: abroad.board_id }, {}]);
  const boards = [home.board_id];
  const readers: [CallOptions, World, EventRow[]][] = [
    [owner(), world, [here!, there!, none!]],
    [{ token: (await addPerson("admin of one", "admin", { boards }, world)).token }, world, [here!, none!]],
    [{ token: (await addPerson("admin of none", "admin", {}, world)).token }, world, [none!]],
    [{ token: (await addPerson("writing admin", "admin", { write: true }, world)).token }, world, [here!, there!, none!]],
    [{ token: (await addPerson("reading", "member", { read: true })).token }, open, [here!, there!]],
    [{ token: (await addPerson("of one", "member", { boards })).token }, open, [here!]],
    [{ token: (await addPerson("of none", "member", {})).token }, open, []],
  ];
  for (const sweep of [false, true]) {
    if (sweep) await scheduled.lifecycle(world.context());
    for (const [who, at, events] of readers) {
      const seen = await list(who, "", at);
      expect([ids(seen.items).toSorted(), seen.total]).toEqual([ids(events).toSorted(), events.length]);
      // A full page does not reveal the total, so the service must count it.
      expect((await list(who, "?limit=1", at)).total).toBe(events.length);
      expect((await list(who, "?offset=9", at)).total).toBe(events.length);
    }
  }
});

test("rights withdrawn by an override, and rights in another organization, do not give access to any events", async () => {
  await add({ board_id: home.board_id });
  const person = await addPerson("blind", "member", { boards: [home.board_id] });
  const setOverride = (can_read: boolean) =>
    world.db.update(organization_board_access).set({ can_read }).where(eq(organization_board_access.board_id, home.board_id));
  await setOverride(false);
  expect((await list({ token: person.token }, "", open)).items).toEqual([]);
  expect((await list({ token: abroad.owner.token })).items).toEqual([]);
  await setOverride(true);
});

test("members may read the list only when ACTIVITY_READERS allows it", async () => {
  const closed = await addPerson("closed out", "member", { read: true }, world);
  for (const path of ["/api/v1/activity", "/api/activity"]) {
    const refused = await world.call("GET", `${path}?limit=no`, { token: closed.token });
    expect([refused.status, refused.body]).toEqual([403, { detail: "Forbidden" }]);
  }
  const reader = await addPerson("reader", "member", { read: true });
  for (const path of ["/api/v1/activity", "/api/activity"])
    expect((await open.call("GET", path, { token: reader.token })).status).toBe(200);
});

test("pages go from the newest event to the oldest, ties by id, and report the true total even past the end", async () => {
  const at = new Date("2026-11-20T10:00:00Z");
  const board = (index: number) => [home.board_id, other.board_id, null][index % 3]!;
  const events = Array.from({ length: 12 }, (_, index) => ({
    board_id: board(index),
    agent_id: home.worker.id,
    created_at: new Date(at.getTime() + Math.floor(index / 4) * 1000),
  }));
  const stored = await add(...events);
  const order = ids(stored.toSorted((a, b) => b.created_at.getTime() - a.created_at.getTime() || (a.id < b.id ? 1 : -1)));
  const granted = await addPerson("paging", "admin", { boards: [home.board_id, other.board_id] }, world);
  for (const who of [owner(), { token: granted.token }, { agent: home.worker.token }]) {
    const pages = [];
    for (let offset = 0; offset < 15; offset += 5) pages.push(await list(who, `?limit=5&offset=${offset}`));
    expect(pages.flatMap(({ items }) => ids(items))).toEqual(order);
    for (const [index, page] of pages.entries()) expect(page).toMatchObject({ total: 12, limit: 5, offset: index * 5 });
    expect(await list(who, "?offset=2147483647")).toEqual({ items: [], total: 12, limit: 50, offset: 2_147_483_647 });
  }
});

test("the activity of one task is listed alone, but only as far as the caller may see it", async () => {
  const [task, quiet, there] = [await addTask(world, home), await addTask(world, home), await addTask(world, other)];
  const { board_id, worker } = home;
  const at = (second: number) => new Date(Date.UTC(2026, 10, 20, 10, 0, second));
  const [first, second] = await add(
    { board_id, task_id: task.id, created_at: at(1) },
    { board_id, task_id: task.id, agent_id: worker.id, created_at: at(2) },
    { board_id, task_id: quiet.id, agent_id: worker.id },
    { board_id, agent_id: worker.id },
    { board_id: other.board_id, task_id: there.id },
  );
  const boards = [board_id];
  const all = ids([second!, first!]);
  const readers: [CallOptions, World, string[]][] = [
    [owner(), world, all],
    [{ token: (await addPerson("task admin of one", "admin", { boards }, world)).token }, world, all],
    [{ token: (await addPerson("task admin of none", "admin", {}, world)).token }, world, []],
    [{ token: (await addPerson("task reader", "member", { read: true })).token }, open, all],
    [{ token: (await addPerson("task reader of one", "member", { boards })).token }, open, all],
    [{ token: (await addPerson("task reader of none", "member", {})).token }, open, []],
    [{ agent: worker.token }, world, ids([second!])],
    [{ token: abroad.owner.token }, world, []],
  ];
  for (const path of ["/api/v1/activity", "/api/activity"])
    for (const [who, service, events] of readers) {
      const page = (await service.call("GET", `${path}?task_id=${task.id}`, who)).body;
      expect([ids(page.items), page.total]).toEqual([events, events.length]);
    }
  const read = async (query: string) => ids((await list(owner(), query)).items);
  expect(await read(`?task_id=${task.id}&limit=1&offset=1`)).toEqual(ids([first!]));
  expect((await list(owner(), `?task_id=${task.id}&offset=5`)).total).toBe(2);
  expect(await read(`?task_id=${crypto.randomUUID()}`)).toEqual([]);
  const refused = await world.call("GET", "/api/v1/activity?task_id=no", owner());
  expect([refused.status, refused.body.detail[0].loc]).toEqual([422, ["query", "task_id"]]);
});

test("both path prefixes return the same activity list, but at most 100 events under the short prefix", async () => {
  await add({ board_id: home.board_id }, {});
  const call = (path: string) => world.call("GET", path, owner());
  expect((await call("/api/activity")).body).toEqual((await call("/api/v1/activity")).body);
  expect((await call("/api/activity?limit=100")).body).toMatchObject({ limit: 100, total: 2 });
  expect((await call("/api/v1/activity?limit=200")).body).toMatchObject({ limit: 200, total: 2 });
  for (const path of ["/api/activity?limit=101", "/api/v1/activity?limit=201"]) {
    const refused = await call(path);
    expect([refused.status, refused.body.detail[0]]).toMatchObject([422, { type: "less_than_equal", loc: ["query", "limit"] }]);
  }
});

test("the total stays correct when comments are deleted with their task, and events with their board", async () => {
  const { board_id } = await addBoard(world, home, "To be deleted");
  const task = await addTask(world, { board_id });
  const comment = { event_type: "task.comment", board_id, task_id: task.id };
  await clearLog(world);
  await add(comment, comment, { board_id, task_id: task.id });
  await scheduled.lifecycle(world.context());
  await add(comment, { board_id: home.board_id });
  const total = async () => (await list(owner(), "?limit=1")).total;
  expect(await total()).toBe(5);
  expect((await world.call("DELETE", `/api/v1/boards/${board_id}/tasks/${task.id}`, owner())).status).toBe(200);
  expect(await world.db.$count(tasks, eq(tasks.board_id, board_id))).toBe(0);
  // Two events of the task remain: its change and its deletion.
  expect([await total(), await world.db.$count(activity_events)]).toEqual([3, 3]);
  await scheduled.lifecycle(world.context());
  expect(await total()).toBe(3);
  await world.call("DELETE", `/api/v1/boards/${board_id}`, owner());
  const left = await world.db.$count(activity_events, and(eq(activity_events.organization_id, home.organization_id)));
  expect([await total(), left]).toEqual([left, left]);
});

test("a page of the activity list takes two statements including authentication, and a third when the total must be counted", async () => {
  await add({ board_id: home.board_id, agent_id: home.worker.id }, { agent_id: home.worker.id });
  const costOf = async (who: CallOptions, query: string) => {
    statements.length = 0;
    await list(who, query);
    return statements.length;
  };
  const granted = await addPerson("counting", "admin", { boards: [home.board_id] }, world);
  await list({ token: granted.token });
  for (const who of [owner(), { token: granted.token }, { agent: home.worker.token }])
    expect([await costOf(who, ""), await costOf(who, "?limit=1")]).toEqual([2, 3]);
});
