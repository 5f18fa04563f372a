import { activity_events, agents, gateways, jobs } from "@board/core/db/schema";
import type { FakeGateway } from "@board/local/fake-gateway/server";
import { and, eq, like } from "drizzle-orm";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { openWorldAndHost } from "./support/office.ts";
import {
  changeTask,
  createTeam,
  headersOf,
  noticesFrom,
  patchTask,
  readTask,
  taskPath,
  type Team,
} from "./support/task-rules.ts";
import type { World } from "./support/world.ts";

/** What is told of tasks, on its way to the agents. */
let world: World;
let host: FakeGateway;

beforeAll(async () => {
  const hosted = await openWorldAndHost();
  ({ world, host } = hosted);
  return hosted.close;
});
beforeEach(() => {
  host.messages.length = 0;
});

const to = (one: { session_key: string }, ...headers: string[]) => headers.map((header) => `${one.session_key} ${header}`);

/** One notice of each kind that leaves an event. */
async function everyKind(home: Team): Promise<void> {
  const [by, as, over] = [{ token: home.owner.token }, { agent: home.worker.token }, { agent: home.lead.token }];
  const made = await world.call("POST", `/api/v1/boards/${home.board_id}/tasks`, { ...by, body: { title: "Sweep" } });
  const task = await readTask(world, made.body.id);
  await changeTask(world, as, task, { status: "in_progress" });
  await changeTask(world, as, task, { status: "review" });
  await changeTask(world, over, task, { status: "inbox" });
  await changeTask(world, by, task, { assigned_agent_id: null });
}
const outcomes = async (home: Team) =>
  (
    await world.db
      .select()
      .from(activity_events)
      .where(and(eq(activity_events.board_id, home.board_id), like(activity_events.event_type, "task.%notif%")))
  )
    .map(({ event_type, agent_id, user_id, task_id }) => [event_type, agent_id, user_id, task_id !== null] as const)
    .toSorted(([one], [other]) => (one < other ? -1 : 1));

test("a notice that arrives is recorded for the agent that got it", async () => {
  const home = await createTeam(world, "heard", host.url);
  await everyKind(home);
  await world.drain();
  expect(await outcomes(home)).toEqual([
    ["task.assignee_notified", home.lead.id, null, true],
    ["task.lead_notified", home.lead.id, null, true],
    ["task.lead_unassigned_notified", home.lead.id, null, true],
    ["task.rework_notified", home.worker.id, null, true],
  ]);
  const heard = host.messages.map(({ session_key, message }) => `${session_key} ${message.split("\n")[0]}`);
  expect(heard.toSorted()).toEqual(
    [
      ...to(home.lead, "NEW TASK ADDED", "TASK READY FOR LEAD REVIEW", "TASK BACK IN INBOX"),
      ...to(home.worker, "CHANGES REQUESTED"),
    ].toSorted(),
  );
});

test("a host that is away fails no request; what is given up is recorded", async () => {
  const home = await createTeam(world, "unheard", host.url);
  await world.db.update(gateways).set({ url: "ws://127.0.0.1:9" }).where(eq(gateways.id, home.gateway_id));
  await everyKind(home);
  for (let attempt = 0; attempt < 30; attempt++) {
    await world.drain();
    world.elapse(200_000);
  }
  expect(await outcomes(home)).toEqual([
    ["task.assignee_notify_failed", home.lead.id, null, true],
    ["task.lead_notify_failed", home.lead.id, null, true],
    ["task.lead_unassigned_notify_failed", home.lead.id, null, true],
    ["task.rework_notify_failed", home.worker.id, null, true],
  ]);
  const left = await world.db
    .select()
    .from(jobs)
    .where(and(eq(jobs.gateway_id, home.gateway_id), eq(jobs.status, "queued")));
  expect(left).toEqual([]);
});

test("what is told of a task that is removed meanwhile is recorded without it", async () => {
  const home = await createTeam(world, "late", host.url);
  const by = { token: home.owner.token };
  const made = await world.call("POST", `/api/v1/boards/${home.board_id}/tasks`, { ...by, body: { title: "Sweep" } });
  await world.call("DELETE", taskPath(home, made.body.id), by);
  await world.drain();
  expect(await outcomes(home)).toEqual([["task.lead_notified", home.lead.id, null, false]]);
});

test("agents without a session are skipped, and a board without a lead has none to tell", async () => {
  const mute = await createTeam(world, "mute");
  const by = { token: mute.owner.token };
  const told = await noticesFrom(world, mute);
  await world.db.update(agents).set({ openclaw_session_id: null }).where(eq(agents.id, mute.lead.id));
  const path = `/api/v1/boards/${mute.board_id}/tasks`;
  const made = await world.call("POST", path, { ...by, body: { title: "Sweep", assigned_agent_id: mute.worker.id } });
  expect(headersOf(await told())).toEqual(to(mute.worker, "TASK ASSIGNED"));
  await world.db.delete(agents).where(eq(agents.id, mute.lead.id));
  await world.db.update(agents).set({ openclaw_session_id: null }).where(eq(agents.id, mute.second.id));
  const task = await readTask(world, made.body.id);
  for (const body of [{ assigned_agent_id: mute.second.id }, { status: "review" }, { status: "inbox" }])
    expect((await patchTask(world, by, task, body)).status).toBe(200);
  expect(await told()).toHaveLength(1);
});
