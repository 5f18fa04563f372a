import { boards, organization_board_access, tag_assignments, tags, tasks } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { addGroup } from "../support/group.ts";
import { actAsMainAgent } from "../support/main-agent.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const home = await world.tenant("home");
const beta = await addBoard(world, home, "beta");
const alpha = await addBoard(world, home, "Alpha");
const group_id = await addGroup(world, home, "Platform", [home.board_id, beta.board_id, alpha.board_id]);
/** A person who can read `alpha` only. */
const reader = await world.person("reader");
const organization_member_id = await world.join(reader, home.organization_id, "member");
await world.db
  .insert(organization_board_access)
  .values({ organization_member_id, board_id: alpha.board_id, can_read: true, can_write: false });

type Shown = { board: { id: string; name: string }; task_counts: object; tasks: { title: string }[] };
const ofBoard = (query = "", credential: object = { token: home.owner.token }, board_id = home.board_id) =>
  world.call("GET", `/api/v1/boards/${board_id}/group-snapshot${query}`, credential);
const ofGroup = (query = "", person = home.owner) =>
  world.call("GET", `/api/v1/board-groups/${group_id}/snapshot${query}`, { token: person.token });
const names = ({ body }: { body: { boards: Shown[] } }) => body.boards.map(({ board }) => board.name);
const titles = ({ body }: { body: { boards: Shown[] } }, board_id: string) =>
  body.boards.find(({ board }) => board.id === board_id)!.tasks.map(({ title }) => title);

test("the group snapshot of a board without a group is empty", async () => {
  const { board_id } = await addBoard(world, home, "Alone");
  expect((await ofBoard("", { token: home.owner.token }, board_id)).body).toEqual({ group: null, boards: [] });
});

test("a group snapshot has the group and its boards, sorted by name ignoring case", async () => {
  const shown = await ofGroup();
  expect(names(shown)).toEqual(["Alpha", "beta", "home board"]);
  expect(shown.body.group).toEqual((await world.call("GET", `/api/v1/board-groups/${group_id}`, home.owner)).body);
  expect(shown.body.boards[0]).toEqual({
    board: (await world.call("GET", `/api/v1/boards/${alpha.board_id}`, home.owner)).body,
    task_counts: {},
    tasks: [],
  });
});

test("a board's group snapshot leaves the board out unless include_self is set", async () => {
  expect(names(await ofBoard())).toEqual(["Alpha", "beta"]);
  expect(names(await ofBoard("?include_self=true"))).toEqual(["Alpha", "beta", "home board"]);
});

test("a group snapshot shows people the boards they may read, and agents all boards of the group", async () => {
  const token = { token: reader.token };
  expect(names(await ofGroup("", reader))).toEqual(["Alpha"]);
  expect(names(await ofBoard("?include_self=1", token, alpha.board_id))).toEqual(["Alpha"]);
  expect(names(await ofBoard("", token, alpha.board_id))).toEqual([]);
  expect((await ofBoard("", token)).status).toBe(404);
  const main = await actAsMainAgent(world, home.gateway_id);
  for (const agent of [home.worker.token, home.lead.token, main.token])
    expect(names(await ofBoard("", { agent }))).toEqual(["Alpha", "beta"]);
  expect((await ofBoard("", { agent: alpha.agent.token })).status).toBe(403);
});

test("a person reads the snapshot of a group in any organization that they belong to, active or not", async () => {
  const elsewhere = await world.tenant("elsewhere");
  const traveller = await world.member("traveller", home, "member", { read: true });
  await world.join(traveller, elsewhere.organization_id, "member", { read: true });
  expect(names(await ofBoard("", { token: traveller.token }))).toEqual(["Alpha", "beta"]);
});

test("snapshot tasks are sorted by status, priority and latest change, limited per board; counts cover all", async () => {
  const minute = (n: number) => ({ updated_at: new Date(n * 60_000), created_at: new Date(0) });
  const { board_id } = beta;
  await world.db.insert(tasks).values([
    { board_id, title: "done", status: "done", priority: "high", ...minute(9) },
    { board_id, title: "blocked", status: "blocked", priority: "high", ...minute(9) },
    { board_id, title: "inbox", status: "inbox", priority: "high", ...minute(9) },
    { board_id, title: "review", status: "review", priority: "high", ...minute(9) },
    { board_id, title: "other", status: "in_progress", priority: "urgent", ...minute(8) },
    { board_id, title: "low", status: "in_progress", priority: "low", ...minute(8) },
    { board_id, title: "medium older", status: "in_progress", priority: "medium", ...minute(1) },
    { board_id, title: "medium newer", status: "in_progress", priority: "medium", ...minute(2) },
    { board_id, title: "high later made", status: "in_progress", priority: "high", ...minute(0), created_at: new Date(1000) },
    { board_id, title: "high", status: "in_progress", priority: "high", ...minute(0) },
  ]);
  await world.db.insert(tasks).values({ board_id: alpha.board_id, title: "alone", status: "done" });
  const order = ["high later made", "high", "medium newer", "medium older", "low", "other", "review", "inbox", "blocked", "done"];
  const all = await ofGroup("?per_board_task_limit=100&include_done=true");
  expect([titles(all, board_id), titles(all, alpha.board_id)]).toEqual([order, ["alone"]]);
  const usual = await ofGroup();
  expect([titles(usual, board_id), titles(usual, alpha.board_id)]).toEqual([order.slice(0, 5), []]);
  expect(titles(await ofBoard("?per_board_task_limit=100"), board_id)).toEqual(order.slice(0, 9));
  expect(titles(await ofGroup("?per_board_task_limit=0"), board_id)).toEqual([]);
  const counts = usual.body.boards.map(({ task_counts }: Shown) => task_counts);
  expect(counts).toEqual([{ done: 1 }, { done: 1, blocked: 1, inbox: 1, review: 1, in_progress: 6 }, {}]);
});

test("a snapshot task has its board's name, its assignee's name and its tags", async () => {
  const { board_id, agent } = await addBoard(world, home, "Detailed");
  await world.db.update(boards).set({ board_group_id: group_id }).where(eq(boards.id, board_id));
  const due_at = new Date("2026-12-31T00:00:00Z");
  const [task] = await world.db
    .insert(tasks)
    .values({ board_id, title: "Task", description: "Not shown", assigned_agent_id: agent.id, due_at, in_progress_at: due_at })
    .returning();
  const label = { organization_id: home.organization_id, name: "Tag", slug: "tag", color: "ff0000" };
  const [tag] = await world.db.insert(tags).values(label).returning();
  await world.db.insert(tag_assignments).values({ task_id: task!.id, tag_id: tag!.id, position: 0 });
  const shown = (await ofGroup()).body.boards.find(({ board }: Shown) => board.id === board_id);
  expect(shown.tasks).toEqual([
    {
      id: task!.id,
      board_id,
      board_name: "Detailed",
      title: "Task",
      status: "inbox",
      priority: "medium",
      assigned_agent_id: agent.id,
      assignee: "Detailed agent",
      due_at: due_at.toISOString(),
      in_progress_at: due_at.toISOString(),
      tags: [{ id: tag!.id, name: "Tag", slug: "tag", color: "ff0000" }],
      created_at: task!.created_at.toISOString(),
      updated_at: task!.updated_at.toISOString(),
    },
  ]);
  await world.db.delete(boards).where(eq(boards.id, board_id));
});

test.each([
  ["?per_board_task_limit=101", "less_than_equal"],
  ["?per_board_task_limit=-1", "greater_than_equal"],
  ["?include_done=perhaps", "bool_type"],
])("a group snapshot query out of range is refused: %s", async (query, type) => {
  const loc = ["query", query.slice(1).split("=")[0]];
  for (const answer of [await ofGroup(query), await ofBoard(query)])
    expect([answer.status, answer.body.detail]).toMatchObject([422, [{ type, loc }]]);
});

test("a group snapshot takes at most six statements for any number of boards and tasks", async () => {
  const cost = async (request: () => Promise<unknown>) => {
    return world.countStatements(() => request());
  };
  expect(await cost(() => ofBoard("", { agent: home.lead.token }))).toBeLessThanOrEqual(6);
  expect(await cost(() => ofGroup())).toBeLessThanOrEqual(6);
});

test("the OpenAPI document offers the group snapshot to agents", async () => {
  const { paths } = (await world.call("GET", "/openapi.json")).body;
  const operation = paths["/api/v1/boards/{board_id}/group-snapshot"].get;
  expect(operation.tags).toEqual(["agent", "agent-lead", "agent-worker", "agent-board"]);
  expect(operation).toMatchObject({ "x-llm-intent": "agent_board_group_snapshot", "x-required-actor": "any_agent" });
});
