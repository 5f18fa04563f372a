import { readFileSync } from "node:fs";
import { BoardEvent } from "@board/core/context/event-body";
import { redriveJobs } from "@board/core/job/redrive";
import { beforeEach, expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { requestApproval } from "../support/approval.ts";
import { listPublishJobs, deliverPublishJobs } from "../support/board-events.ts";
import { createPublishingWorld } from "./publishing-world.ts";
import { addTask } from "../support/task.ts";
import { changeTask, addDependencies } from "../support/task-rules.ts";
import type { World } from "../support/world.ts";

/** Part of every text that these tests write; no event may contain it. */
const TEXT = "zanzibar";

const fixture = await setup(createPublishingWorld());
const { statements, world, nonPublishing, home } = fixture;
// An agent's first request needs more statements than its later requests, because the agent comes online.
await world.call("GET", "/api/v1/agent/healthz", { agent: home.worker.token });

beforeEach(() => fixture.reset());

const tasksPath = `/api/v1/boards/${home.board_id}/tasks`;
const add = (fields: Parameters<typeof addTask>[2] = {}) => addTask(world, home, fields);

/** One request of each kind, to the given service. */
const requests: [string, (service: World) => Promise<unknown>][] = [
  ["creating a task", (service) => on(service, "POST", tasksPath, { title: TEXT, assigned_agent_id: home.worker.id })],
  ["changing a task", async (service) => patch(service, await add(), { title: TEXT, priority: TEXT })],
  ["completing a task", async (service) => patch(service, await addLinkedTask(), { status: "done" })],
  ["reopening a task", async (service) => patch(service, await addLinkedTask({ status: "done" }), { status: "inbox" })],
  ["deleting a task", async (service) => on(service, "DELETE", `${tasksPath}/${(await addLinkedTask()).id}`)],
  [
    "creating an agent",
    (service) => on(service, "POST", "/api/v1/agents", { name: `${TEXT} ${count++}`, board_id: home.board_id }),
  ],
  ["renaming an agent", (service) => on(service, "PATCH", agentPath, { name: `${TEXT} ${count++}` })],
  [
    "changing an agent's heartbeat interval",
    (service) => on(service, "PATCH", agentPath, { heartbeat_config: { every: `${100 + count++}m` } }),
  ],
  ["requesting an approval", (service) => requestApproval(service, home, { action_type: TEXT, payload: { secret: TEXT } })],
  ["deciding an approval", async (service) => decideOn(service, (await requestApproval(nonPublishing, home)).id)],
];
let count = 0;
const agentPath = `/api/v1/agents/${home.second.id}`;
const patch = (service: World, { id }: { id: string }, body: object) => on(service, "PATCH", `${tasksPath}/${id}`, body);
const decideOn = (service: World, id: string) =>
  on(service, "PATCH", `/api/v1/boards/${home.board_id}/approvals/${id}`, { status: "approved" });
async function addLinkedTask(fields: Parameters<typeof addTask>[2] = {}) {
  const first = await add(fields);
  await addDependencies(world, await add({ status: "review", assigned_agent_id: home.worker.id }), [first]);
  return first;
}
/** Sends one request and counts only its statements. */
async function on(service: World, method: string, path: string, body?: object) {
  const { token } = await world.person("home");
  statements.length = 0;
  const answer = await service.call(method, path, { token, body });
  expect(answer.status, answer.text).toBe(200);
}

test.each(requests)(
  "%s takes the same number of statements with events on and off, and queues them only when on",
  async (_what, request) => {
    const costs: number[] = [];
    for (const service of [nonPublishing, world]) {
      statements.length = 0;
      await request(service);
      costs.push(statements.length);
      expect((await listPublishJobs(world)).length > 0).toBe(service === world);
    }
    expect(costs[0]).toBeGreaterThan(2);
    expect(costs[1]).toBe(costs[0]);
  },
);

test("an event has exactly the fields of its schema, and no user text or secret", async () => {
  const events = await fixture.eventsPublishedBy(async () => {
    for (const [, request] of requests) await request(world);
  });
  expect(new Set(events.map(({ type }) => type))).toEqual(
    new Set([
      "task.created",
      "task.updated",
      "task.assigned",
      "task.completed",
      "agent.created",
      "agent.updated",
      "approval.requested",
      "approval.resolved",
    ]),
  );
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  for (const event of events) expect(BoardEvent.parse(event)).toEqual(event);
  const text = JSON.stringify([events, (await listPublishJobs(world)).map(({ payload }) => payload)]);
  for (const secret of [TEXT, home.owner.token, home.worker.token, home.lead.token, home.second.token, "test-token-123"])
    expect(text).not.toContain(secret);
});

test("the examples in docs/board-events.md match the event schema", () => {
  const document = readFileSync(new URL("../../docs/board-events.md", import.meta.url), "utf8");
  const blocks = [...document.matchAll(/```json\n([^`]*)```/g)].map(([, json]) => JSON.parse(json!));
  const details = blocks.map((block) => block.detail ?? block).filter(({ version }) => version !== undefined);
  expect(details.map(({ type }) => type)).toEqual(["task.updated", "agent.updated", "approval.resolved"]);
  for (const detail of details) expect(BoardEvent.parse(detail)).toEqual(detail);
});

test("an event keeps its id and time while the bus is down and when its job is redriven", async () => {
  const task = await add();
  fixture.isBusDown = true;
  expect(await fixture.eventsPublishedBy(() => changeTask(world, { token: home.owner.token }, task, { title: TEXT }))).toEqual(
    [],
  );
  const [job] = await listPublishJobs(world);
  expect(job).toMatchObject({ status: "queued", attempts: 1, crashes: 0, lane: null, last_error: "away" });
  for (let attempt = 2; attempt <= 10; attempt++) {
    world.elapse(700_000);
    await deliverPublishJobs(world);
  }
  expect(await listPublishJobs(world)).toMatchObject([{ id: job!.id, status: "dead", attempts: 10 }]);
  fixture.isBusDown = false;
  const [event] = await fixture.eventsPublishedBy(() => redriveJobs(world.context(), [job!.id]));
  expect(event).toMatchObject({ id: job!.id, occurred_at: (job!.payload as BoardEvent).occurred_at, changed_fields: ["title"] });
  expect(await listPublishJobs(world)).toMatchObject([{ status: "done", last_error: null }]);
});
