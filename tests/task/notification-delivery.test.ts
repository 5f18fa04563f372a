/** Delivery of task notifications to agents. */
import { agents, gateways, jobs } from "@board/core/schema/all-tables";
import { and, eq } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import { listEvents } from "../support/activity.ts";
import { openGatewayFixture } from "../support/gateway-fixture.ts";
import {
  changeTask,
  createTeam,
  headersOf,
  recordNotices,
  patchTask,
  getTask,
  taskPath,
  type Team,
} from "../support/task-rules.ts";
import { setup } from "../support/fixtures.ts";

const { world, host } = await setup(openGatewayFixture());

beforeEach(() => {
  host.messages.length = 0;
});

const to = (agent: { session_key: string }, ...headers: string[]) => headers.map((header) => `${agent.session_key} ${header}`);

/** Causes one notification of each kind that records an event. */
async function causeEveryKind(home: Team): Promise<void> {
  const [by, as, byLead] = [{ token: home.owner.token }, { agent: home.worker.token }, { agent: home.lead.token }];
  const created = await world.call("POST", `/api/v1/boards/${home.board_id}/tasks`, { ...by, body: { title: "Sweep" } });
  const task = await getTask(world, created.body.id);
  await changeTask(world, as, task, { status: "in_progress" });
  await changeTask(world, as, task, { status: "review" });
  await changeTask(world, byLead, task, { status: "inbox" });
  await changeTask(world, by, task, { assigned_agent_id: null });
}
const outcomes = async (home: Team) =>
  (await listEvents(world, { board_id: home.board_id, event_type: "task.%notif%" }))
    .map(({ event_type, agent_id, user_id, task_id }) => [event_type, agent_id, user_id, task_id !== null] as const)
    .toSorted(([queued], [right]) => (queued < right ? -1 : 1));

test("a delivered notification is recorded with the agent that received it", async () => {
  const home = await createTeam(world, "delivered", host.url);
  await causeEveryKind(home);
  await world.drain();
  expect(await outcomes(home)).toEqual([
    ["task.assignee_notified", home.lead.id, null, true],
    ["task.lead_notified", home.lead.id, null, true],
    ["task.lead_unassigned_notified", home.lead.id, null, true],
    ["task.rework_notified", home.worker.id, null, true],
  ]);
  const received = host.messages.map(({ session_key, message }) => `${session_key} ${message.split("\n")[0]}`);
  expect(received.toSorted()).toEqual(
    [
      ...to(home.lead, "NEW TASK ADDED", "TASK READY FOR LEAD REVIEW", "TASK BACK IN INBOX"),
      ...to(home.worker, "CHANGES REQUESTED"),
    ].toSorted(),
  );
});

test("an unreachable host fails no request, and notifications that are given up are recorded", async () => {
  const home = await createTeam(world, "unreachable", host.url);
  await world.db.update(gateways).set({ url: "ws://127.0.0.1:9" }).where(eq(gateways.id, home.gateway_id));
  await causeEveryKind(home);
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
  const queued = await world.db
    .select()
    .from(jobs)
    .where(and(eq(jobs.gateway_id, home.gateway_id), eq(jobs.status, "queued")));
  expect(queued).toEqual([]);
});

test("if a task is deleted before its notification is delivered, the delivery is recorded without the task", async () => {
  const home = await createTeam(world, "late", host.url);
  const by = { token: home.owner.token };
  const created = await world.call("POST", `/api/v1/boards/${home.board_id}/tasks`, { ...by, body: { title: "Sweep" } });
  await world.call("DELETE", taskPath(home, created.body.id), by);
  await world.drain();
  expect(await outcomes(home)).toEqual([["task.lead_notified", home.lead.id, null, false]]);
});

test("agents without a session are not notified, and no change fails because the board has no lead", async () => {
  const team = await createTeam(world, "mute");
  const by = { token: team.owner.token };
  const readNotices = await recordNotices(world, team);
  await world.db.update(agents).set({ openclaw_session_id: null }).where(eq(agents.id, team.lead.id));
  const path = `/api/v1/boards/${team.board_id}/tasks`;
  const created = await world.call("POST", path, { ...by, body: { title: "Sweep", assigned_agent_id: team.worker.id } });
  expect(headersOf(await readNotices())).toEqual(to(team.worker, "TASK ASSIGNED"));
  await world.db.delete(agents).where(eq(agents.id, team.lead.id));
  await world.db.update(agents).set({ openclaw_session_id: null }).where(eq(agents.id, team.second.id));
  const task = await getTask(world, created.body.id);
  for (const body of [{ assigned_agent_id: team.second.id }, { status: "review" }, { status: "inbox" }])
    expect((await patchTask(world, by, task, body)).status).toBe(200);
  expect(await readNotices()).toHaveLength(1);
});
