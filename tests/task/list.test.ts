import { task_dependencies } from "@board/core/schema/all-tables";
import { beforeEach, describe, expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { actAsMainAgent } from "../support/main-agent.ts";
import { addTask, type TaskRow } from "../support/task.ts";
import { setupWorld } from "../support/fixtures.ts";

let board: { board_id: string; agent: { id: string; token: string } };

const world = await setupWorld();
const home = await world.tenant("home");
const abroad = await world.tenant("abroad");
const reader = await world.member("reader", home, "member", { read: true });

let boardCount = 0;
beforeEach(async () => {
  board = await addBoard(world, home, `Board ${++boardCount}`);
});

const UNSUPPORTED = { detail: "Unsupported task status filter." };

const userPath = (rest = "", board_id = board.board_id) => `/api/v1/boards/${board_id}/tasks${rest}`;
const agentPath = (rest = "", board_id = board.board_id) => `/api/v1/agent/boards/${board_id}/tasks${rest}`;
const read = async (rest = "") => (await world.call("GET", userPath(rest), { token: home.owner.token })).body;
const titles = async (query = "") => (await read(query)).items.map(({ title }: { title: string }) => title);
/** Stores tasks with these titles and fields, each a minute older than the one before. */
async function addTasks(list: Record<string, Partial<TaskRow>>): Promise<Record<string, TaskRow>> {
  const rows: Record<string, TaskRow> = {};
  let minute = 59;
  for (const [title, fields] of Object.entries(list)) {
    const created_at = new Date(Date.UTC(2026, 0, 1, 0, minute--));
    rows[title] = await addTask(world, board, { title, created_at, ...fields });
  }
  return rows;
}
const depend = ({ id: task_id }: TaskRow, ...on: TaskRow[]) =>
  world.db
    .insert(task_dependencies)
    .values(on.map(({ id }, position) => ({ board_id: board.board_id, task_id, depends_on_task_id: id, position })));

describe("the list of tasks", () => {
  test("tasks are listed newest first, by page, with the true total", async () => {
    await addTasks({ newest: {}, middle: {}, oldest: {} });
    expect(await titles()).toEqual(["newest", "middle", "oldest"]);
    expect(await read("?limit=1&offset=1")).toMatchObject({ items: [{ title: "middle" }], total: 3, limit: 1, offset: 1 });
    expect(await read("?offset=3")).toEqual({ items: [], total: 3, limit: 50, offset: 3 });
  });

  test("tasks of the same time keep one order over all pages", async () => {
    const created_at = new Date();
    for (let index = 0; index < 9; index++) await addTask(world, board, { title: `${index}`, created_at });
    const pages = [await titles("?limit=4"), await titles("?limit=4&offset=4"), await titles("?limit=4&offset=8")];
    expect(pages.flat()).toEqual(await titles());
    expect(new Set(pages.flat()).size).toBe(9);
  });

  test("the list shows each task as it is read by id, to people and agents alike", async () => {
    const { first, second } = await addTasks({ first: { description: "Text", priority: "high" }, second: { status: "done" } });
    await depend(first!, second!);
    const { items } = await read();
    expect(items).toMatchObject([
      { id: first!.id, description: "Text", priority: "high", depends_on_task_ids: [second!.id], blocked_by_task_ids: [] },
      { id: second!.id, status: "done" },
    ]);
    expect([await read(`/${first!.id}`), await read(`/${second!.id}`)]).toEqual(items);
    const page = { items, total: 2, limit: 50, offset: 0 };
    for (const [path, who] of [
      [userPath(), { agent: board.agent.token }],
      [agentPath(), { agent: board.agent.token }],
      [agentPath(), { agent: (await actAsMainAgent(world, home.gateway_id)).token }],
      [userPath(), { token: reader.token }],
    ] as const)
      expect((await world.call("GET", path, who)).body).toEqual(page);
  });

  test("the list of a board without tasks is empty", async () => {
    await addTask(world, home, { title: "of another board" });
    expect(await read()).toEqual({ items: [], total: 0, limit: 50, offset: 0 });
  });
});

describe("the status filter of tasks", () => {
  const ALL = { inbox: {}, in_progress: {}, review: {}, done: {}, blocked: {} };
  beforeEach(async () => {
    await addTasks(Object.fromEntries(Object.keys(ALL).map((status) => [status, { status: status as TaskRow["status"] }])));
  });

  test.each([
    ["inbox", ["inbox"]],
    ["in_progress", ["in_progress"]],
    ["review", ["review"]],
    ["done", ["done"]],
    ["blocked", ["blocked"]],
    ["done,inbox", ["inbox", "done"]],
    [" inbox , done ", ["inbox", "done"]],
    ["done,done", ["done"]],
    ["inbox,in_progress,review,done,blocked", Object.keys(ALL)],
  ])("the status filter %j returns the tasks that match it", async (status, expected) => {
    const query = `?status=${encodeURIComponent(status)}`;
    expect(await titles(query)).toEqual(expected);
    expect((await read(`${query}&limit=1`)).total).toBe(expected.length);
  });

  test.each(["todo", "INBOX", "inbox,todo", "", " ", ",", "inbox,", ",inbox", "inbox,,done", "inbox;done", "null"])(
    "the status filter %j is refused",
    async (status) => {
      for (const [path, who] of [
        [userPath(), { token: home.owner.token }],
        [agentPath(), { agent: board.agent.token }],
      ] as const) {
        const refused = await world.call("GET", `${path}?status=${encodeURIComponent(status)}`, who);
        expect([refused.status, refused.body]).toEqual([422, UNSUPPORTED]);
      }
    },
  );

  test("an unknown status is reported only to clients that may read the board", async () => {
    const query = "?status=todo";
    const status = async (path: string, who: object) => (await world.call("GET", path, who)).status;
    expect(await status(userPath(query), { token: abroad.owner.token })).toBe(404);
    expect(await status(userPath(query), { agent: home.worker.token })).toBe(403);
    expect(await status(agentPath(query, abroad.board_id), { agent: board.agent.token })).toBe(404);
  });
});

describe("the blocked filter of tasks", () => {
  test("the filter blocked returns tasks in status blocked and unfinished tasks with unfinished dependencies", async () => {
    const of = await addTasks({
      stored: { status: "blocked" },
      "waiting in inbox": {},
      "waiting in review": { status: "review" },
      "waiting twice": { status: "in_progress" },
      "done with open dependency": { status: "done" },
      "free again": {},
      free: {},
      "open dependency": { status: "in_progress" },
      "done dependency": { status: "done" },
    });
    for (const title of ["waiting in inbox", "waiting in review", "done with open dependency"])
      await depend(of[title]!, of["open dependency"]!);
    await depend(of["waiting twice"]!, of["done dependency"]!, of["open dependency"]!, of["stored"]!);
    await depend(of["free again"]!, of["done dependency"]!);
    const blocked = ["stored", "waiting in inbox", "waiting in review", "waiting twice"];
    expect(await titles("?status=blocked")).toEqual(blocked);
    expect(await read("?status=blocked&limit=1&offset=2")).toMatchObject({ items: [{ title: blocked[2] }], total: 4 });
    // In a combination, each status adds its own tasks.
    expect(await titles("?status=blocked,done")).toEqual([...blocked, "done with open dependency", "done dependency"]);
    expect(await titles("?status=inbox")).toEqual(["waiting in inbox", "free again", "free"]);
    const shown: { title: string; is_blocked: boolean }[] = (await read("?status=blocked")).items;
    expect(shown.filter(({ is_blocked }) => is_blocked).map(({ title }) => title)).toEqual(blocked.slice(1));
  });
});

describe("the assignee filter of tasks", () => {
  beforeEach(() =>
    addTasks({
      "the board agent's": { assigned_agent_id: board.agent.id },
      "the board agent's, done": { assigned_agent_id: board.agent.id, status: "done" },
      "the worker's": { assigned_agent_id: home.worker.id },
      unassigned: {},
      "unassigned, done": { status: "done" },
    }),
  );

  test("tasks can be filtered by one assignee or by having none", async () => {
    expect(await titles(`?assigned_agent_id=${board.agent.id.toUpperCase()}`)).toEqual([
      "the board agent's",
      "the board agent's, done",
    ]);
    expect(await titles(`?assigned_agent_id=${crypto.randomUUID()}`)).toEqual([]);
    for (const yes of ["true", "1", "Yes"])
      expect(await titles(`?unassigned=${yes}`)).toEqual(["unassigned", "unassigned, done"]);
    for (const no of ["false", "0", "off"]) expect(await titles(`?unassigned=${no}`)).toHaveLength(5);
  });

  test("all task filters apply together", async () => {
    expect(await titles(`?assigned_agent_id=${board.agent.id}&status=done`)).toEqual(["the board agent's, done"]);
    expect(await titles("?unassigned=true&status=done,blocked")).toEqual(["unassigned, done"]);
    expect(await titles(`?assigned_agent_id=${board.agent.id}&unassigned=false`)).toEqual([
      "the board agent's",
      "the board agent's, done",
    ]);
    expect(await titles(`?assigned_agent_id=${board.agent.id}&unassigned=true`)).toEqual([]);
  });

  test.each([
    ["assigned_agent_id=worker", "uuid_parsing"],
    ["unassigned=maybe", "bool_type"],
    ["unassigned=", "bool_type"],
    ["limit=0", "greater_than_equal"],
    ["limit=201", "less_than_equal"],
    ["status=todo&offset=-1", "greater_than_equal"],
  ])("an invalid task query is refused and its parameter is named: %s", async (query, type) => {
    for (const [path, who] of [
      [userPath(), { token: home.owner.token }],
      [agentPath(), { agent: board.agent.token }],
    ] as const) {
      const refused = await world.call("GET", `${path}?${query}`, who);
      expect([refused.status, refused.body.detail]).toMatchObject([422, [{ type, loc: ["query", expect.any(String)] }]]);
    }
  });
});

describe("reading a task", () => {
  test("a task is found on its own board only", async () => {
    const task = await addTask(world, board, { title: "Found" });
    const status = async (path: string) => (await world.call("GET", path, { token: home.owner.token })).status;
    expect(await status(userPath(`/${task.id.toUpperCase()}`))).toBe(200);
    for (const path of [userPath(`/${task.id}`, home.board_id), userPath(`/${crypto.randomUUID()}`)])
      expect(await status(path), path).toBe(404);
  });
});

describe("statements of task reads", () => {
  test("reading a page or a single task takes two statements and writes nothing", async () => {
    const rows = await addTasks(Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`${index}`, {}])));
    for (let index = 1; index < 30; index++) await depend(rows[`${index}`]!, rows["0"]!);
    for (const query of ["", "?status=blocked,inbox", "?limit=10", "?limit=10&offset=10", `/${rows["1"]!.id}`]) {
      world.statements.length = 0;
      await read(query);
      expect([query, world.statements.length]).toEqual([query, 2]);
      expect(world.statements.filter((statement) => !/^select/i.test(statement))).toEqual([]);
    }
  });
});
