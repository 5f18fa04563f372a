import { board_memory, tasks } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { requestApproval } from "../support/approval.ts";
import { addBoard } from "../support/board.ts";
import { addTask } from "../support/task.ts";
import { agentTaskPath, createTeam, setRules } from "../support/task-rules.ts";
import { renew, setupWorld } from "../support/fixtures.ts";

let teams = 0;

const world = await setupWorld();

const team = renew(() => createTeam(world, `next-${++teams}`));

const nextOfProcess = (agent = team.worker.token, body: object = {}) =>
  world.call("POST", "/api/v1/agent/tasks/next", { agent, body });
/** Takes another task, even if the agent already holds a task. */
const next = (agent = team.worker.token, body: object = {}) => nextOfProcess(agent, { parallel: true, ...body });
const titleOf = ({ body }: { body: { task: { title: string } | null } }) => body.task?.title ?? null;
const eventTypes = async (task_id: string) => {
  const { body } = await world.call("GET", `/api/v1/activity?limit=200`, { token: team.owner.token });
  const events: { task_id: string; event_type: string }[] = body.items;
  return events.flatMap((event) => (event.task_id === task_id ? [event.event_type] : [])).toSorted();
};

test("an idle worker gets a free task, which moves to in_progress, with a lease and its latest comments", async () => {
  const task = await addTask(world, team, { title: "Paint" });
  for (let number = 1; number <= 12; number++)
    await world.call("POST", `${agentTaskPath(team, task.id)}/comments`, {
      agent: team.lead.token,
      body: { content: `Note ${number}` },
    });
  const { status, body } = await next();
  expect(status).toBe(200);
  expect(body.task).toMatchObject({ id: task.id, status: "in_progress", assigned_agent_id: team.worker.id });
  expect(body.lease).toEqual({ fence: 1, expires_at: expect.any(String) });
  expect(body.task.lease).toEqual({ agent_id: team.worker.id, ...body.lease });
  const seconds = (Date.parse(body.lease.expires_at) - world.now().getTime()) / 1_000;
  expect(seconds).toBeGreaterThan(870);
  expect(seconds).toBeLessThanOrEqual(900);
  expect(body.comments.map(({ message }: { message: string }) => message)).toEqual(
    Array.from({ length: 10 }, (_, index) => `Note ${index + 3}`),
  );
  expect(body.retry_after_seconds).toBe(0);
});

test("taking the next task records the events of a move to in_progress", async () => {
  const [taken, moved] = [await addTask(world, team), await addTask(world, team, { priority: "low" })];
  expect((await next()).body.task.id).toBe(taken.id);
  await world.call("PATCH", agentTaskPath(team, moved.id), { agent: team.second.token, body: { status: "in_progress" } });
  const types = await eventTypes(taken.id);
  expect(types).toContain("task.status_changed");
  expect(types).toEqual(await eventTypes(moved.id));
});

test("an agent without work gets no task, only the number of seconds to wait before it asks again", async () => {
  const { status, body } = await next();
  expect(status).toBe(200);
  expect(body).toEqual({ task: null, lease: null, comments: [], retry_after_seconds: expect.any(Number) });
  expect(body.retry_after_seconds).toBeGreaterThan(0);
});

test("free tasks are handed out by priority, then due time, then age", async () => {
  const at = (hour: number) => new Date(Date.UTC(2026, 0, 1, hour));
  await addTask(world, team, { title: "other word", priority: "urgent" });
  await addTask(world, team, { title: "medium, younger", created_at: at(2) });
  await addTask(world, team, { title: "medium, older", created_at: at(1) });
  await addTask(world, team, { title: "medium, due later", due_at: at(5), created_at: at(3) });
  await addTask(world, team, { title: "medium, due first", due_at: at(4), created_at: at(3) });
  await addTask(world, team, { title: "low", priority: "low", created_at: at(1) });
  await addTask(world, team, { title: "high", priority: "high", created_at: at(9) });
  const titles: (string | null)[] = [];
  for (let count = 1; count <= 8; count++) titles.push(titleOf(await next()));
  expect(titles).toEqual([
    "high",
    "medium, due first",
    "medium, due later",
    "medium, older",
    "medium, younger",
    "low",
    "other word",
    null,
  ]);
});

test("an agent resumes its own work first, then starts what is assigned to it, then claims a free task", async () => {
  const mine = { assigned_agent_id: team.worker.id };
  await addTask(world, team, { title: "free", priority: "high" });
  await addTask(world, team, { title: "assigned", priority: "high", ...mine });
  await addTask(world, team, { title: "in work", priority: "low", status: "in_progress", ...mine });
  expect(titleOf(await next())).toBe("in work");
  expect(titleOf(await next())).toBe("assigned");
  expect(titleOf(await next())).toBe("free");
  expect(titleOf(await next())).toBeNull();
});

test("a task of another agent is not handed out", async () => {
  await addTask(world, team, { assigned_agent_id: team.second.id });
  await addTask(world, team, { assigned_agent_id: team.second.id, status: "in_progress" });
  await addTask(world, team, { status: "review" });
  await addTask(world, team, { status: "done" });
  await addTask(world, team, { status: "blocked" });
  expect(titleOf(await next())).toBeNull();
});

test("a request for parallel work does not get the task that another process of the same agent holds", async () => {
  await addTask(world, team);
  expect((await next()).body.task).not.toBeNull();
  expect((await next()).body.task).toBeNull();
});

test("an agent that holds a task gets it again under the same fence, with its lease renewed, although other tasks are free", async () => {
  const [first] = [await addTask(world, team), await addTask(world, team, { title: "Urgent", priority: "high" })];
  await world.call("PUT", `/api/v1/agent/boards/${team.board_id}/tasks/${first.id}/lease`, {
    agent: team.worker.token,
    body: { lease_seconds: 60 },
  });
  const held = (await nextOfProcess()).body;
  world.elapse(30_000);
  const again = (await nextOfProcess(team.worker.token, { tags: ["absent"] })).body;
  expect([held.task.id, again.task.id]).toEqual([first.id, first.id]);
  expect(again.lease.fence).toBe(held.lease.fence);
  expect(Date.parse(again.lease.expires_at)).toBeGreaterThan(Date.parse(held.lease.expires_at));
  expect((await next()).body.task.title).toBe("Urgent");
});

test("an agent whose task is done gets another task", async () => {
  for (const title of ["one", "two"]) await addTask(world, team, { title });
  const first = (await nextOfProcess()).body.task;
  await world.call("PATCH", agentTaskPath(team, first.id), { agent: team.worker.token, body: { status: "review" } });
  const second = (await nextOfProcess()).body.task;
  expect([first.title, second.title]).toEqual(["one", "two"]);
});

test("a task with an unfinished dependency is not handed out until the dependency is done", async () => {
  const { lead, owner } = team;
  const create = (body: object) =>
    world.call("POST", `/api/v1/boards/${team.board_id}/tasks`, { token: owner.token, body: { title: "First", ...body } });
  const first = (await create({})).body;
  await create({ title: "Second", priority: "high", depends_on_task_ids: [first.id] });
  expect((await next()).body.task.id).toBe(first.id);
  expect((await next()).body.task).toBeNull();
  await world.call("PATCH", agentTaskPath(team, first.id), { agent: lead.token, body: { status: "done" } });
  expect(titleOf(await next())).toBe("Second");
});

test("only tasks with one of the requested tags are handed out", async () => {
  const tagged = async (name: string) => {
    const tag = await world.call("POST", "/api/v1/tags", { token: team.owner.token, body: { name, color: "ff0000" } });
    const body = { title: name, tag_ids: [tag.body.id] };
    await world.call("POST", `/api/v1/boards/${team.board_id}/tasks`, { token: team.owner.token, body });
  };
  await addTask(world, team, { title: "untagged", priority: "high" });
  await tagged("docs");
  await tagged("tests");
  expect(titleOf(await next(team.worker.token, { tags: ["tests", "unknown"] }))).toBe("tests");
  expect(titleOf(await next(team.worker.token, { tags: ["tests"] }))).toBeNull();
  expect(titleOf(await next(team.worker.token, { tags: [] }))).toBe("untagged");
});

test("a lead gets its own tasks but no free ones", async () => {
  await addTask(world, team, { title: "free" });
  await addTask(world, team, { title: "own", assigned_agent_id: team.lead.id });
  expect(titleOf(await next(team.lead.token))).toBe("own");
  expect(titleOf(await next(team.lead.token))).toBeNull();
});

test("while only leads may change statuses, a worker resumes its own work but starts no task", async () => {
  await setRules(world, team, { only_lead_can_change_status: true });
  await addTask(world, team, { title: "free" });
  await addTask(world, team, { title: "assigned", assigned_agent_id: team.worker.id });
  await addTask(world, team, { title: "in work", status: "in_progress", assigned_agent_id: team.worker.id });
  expect(titleOf(await next())).toBe("in work");
  expect(titleOf(await next())).toBeNull();
});

test("a task whose pending approval blocks its moves is not handed out", async () => {
  await setRules(world, team, { block_status_changes_with_pending_approval: true });
  const gated = await addTask(world, team, { title: "gated", priority: "high" });
  await requestApproval(world, team, { task_ids: [gated.id] });
  await addTask(world, team, { title: "open" });
  expect(titleOf(await next())).toBe("open");
  expect(titleOf(await next())).toBeNull();
});

test("a paused board hands out no task", async () => {
  await addTask(world, team);
  await world.db.insert(board_memory).values({ board_id: team.board_id, content: "/pause", is_chat: true });
  expect(titleOf(await next())).toBeNull();
});

test("a main agent gets tasks of all boards of its gateway, or of one board that it names", async () => {
  const { board_id: other_id } = await addBoard(world, team, "Other");
  await addTask(world, team, { title: "home" });
  await addTask(world, { board_id: other_id }, { title: "other", priority: "low" });
  await addTask(world, { board_id: other_id }, { title: "urgent other", priority: "high" });
  expect(titleOf(await next(team.main.token, { board_id: team.board_id }))).toBe("home");
  expect(titleOf(await next(team.main.token))).toBe("urgent other");
  expect(titleOf(await next(team.main.token))).toBe("other");
});

test.each([59, 86_401, 1.5, "900", null])("a lease of %j seconds is refused", async (lease_seconds) => {
  expect((await next(team.worker.token, { lease_seconds })).status).toBe(422);
});

test("a task of another organization is never handed out", async () => {
  const stranger = await createTeam(world, `neighbour-${teams}`);
  await addTask(world, stranger);
  expect(titleOf(await next())).toBeNull();
  expect(await world.db.$count(tasks, eq(tasks.board_id, stranger.board_id))).toBe(1);
});
