import { readFileSync } from "node:fs";
import { BoardEvent } from "@board/core/board-event/detail";
import { redriveJobs } from "@board/core/job/job";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { ask } from "./support/approval.ts";
import { eventJobs, publishDue } from "./support/board-events.ts";
import { createEventWorld, type EventWorld } from "./support/event-world.ts";
import { addTask } from "./support/task.ts";
import { changeTask, link, type Team } from "./support/task-rules.ts";
import type { World } from "./support/world.ts";

/** Stands in every text that somebody writes here. */
const SAID = "zanzibar";

let stage: EventWorld;
let statements: string[];
let world: World;
let quiet: World;
let home: Team;

beforeAll(async () => {
  stage = await createEventWorld();
  ({ statements, world, quiet, home } = stage);
  // An agent's first request costs more than its others: it comes online.
  await world.call("GET", "/api/v1/agent/healthz", { agent: home.worker.token });
}, 60_000);
afterAll(() => stage.close());
beforeEach(() => stage.clear());

const tasksPath = () => `/api/v1/boards/${home.board_id}/tasks`;
const add = (fields: Parameters<typeof addTask>[2] = {}) => addTask(world, home, fields);

/** One request of each family, as whichever service gets it. */
const requests: [string, (service: World) => Promise<unknown>][] = [
  ["a new task", (service) => on(service, "POST", tasksPath(), { title: SAID, assigned_agent_id: home.worker.id })],
  ["a change of a task", async (service) => patch(service, await add(), { title: SAID, priority: SAID })],
  ["the end of a task", async (service) => patch(service, await linked(), { status: "done" })],
  ["a reopened task", async (service) => patch(service, await linked({ status: "done" }), { status: "inbox" })],
  ["a removed task", async (service) => on(service, "DELETE", `${tasksPath()}/${(await linked()).id}`)],
  ["a new agent", (service) => on(service, "POST", "/api/v1/agents", { name: `${SAID} ${count++}`, board_id: home.board_id })],
  ["a new name of an agent", (service) => on(service, "PATCH", agentPath(), { name: `${SAID} ${count++}` })],
  [
    "a new rhythm of an agent",
    (service) => on(service, "PATCH", agentPath(), { heartbeat_config: { every: `${100 + count++}m` } }),
  ],
  ["a new approval", (service) => ask(service, home, { action_type: SAID, payload: { secret: SAID } })],
  ["a decision", async (service) => decideOn(service, (await ask(quiet, home)).id)],
];
let count = 0;
const agentPath = () => `/api/v1/agents/${home.second.id}`;
const patch = (service: World, { id }: { id: string }, body: object) => on(service, "PATCH", `${tasksPath()}/${id}`, body);
const decideOn = (service: World, id: string) =>
  on(service, "PATCH", `/api/v1/boards/${home.board_id}/approvals/${id}`, { status: "approved" });
async function linked(fields: Parameters<typeof addTask>[2] = {}) {
  const first = await add(fields);
  await link(world, await add({ status: "review", assigned_agent_id: home.worker.id }), [first]);
  return first;
}
/** Prepared by what goes before it: the statements of this request alone are counted. */
async function on(service: World, method: string, path: string, body?: object) {
  const { token } = await service.person("home");
  statements.length = 0;
  const answer = await service.call(method, path, { token, ...(body ? { body } : {}) });
  expect(answer.status, answer.text).toBe(200);
}

test.each(requests)(
  "%s takes as many statements with events as without, and stores none where they are off",
  async (_what, request) => {
    const costs: number[] = [];
    for (const service of [quiet, world]) {
      statements.length = 0;
      await request(service);
      costs.push(statements.length);
      expect((await eventJobs(world)).length > 0).toBe(service === world);
    }
    expect(costs[0]).toBeGreaterThan(2);
    expect(costs[1]).toBe(costs[0]);
  },
);

test("every event has exactly the fields of its schema, and nothing that somebody wrote or that is secret", async () => {
  const events = await stage.leaving(async () => {
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
  const text = JSON.stringify([events, (await eventJobs(world)).map(({ payload }) => payload)]);
  for (const secret of [SAID, home.owner.token, home.worker.token, home.lead.token, home.second.token, "test-token-123"])
    expect(text).not.toContain(secret);
});

test("the examples of the document are such events", () => {
  const document = readFileSync(new URL("../docs/board-events.md", import.meta.url), "utf8");
  const blocks = [...document.matchAll(/```json\n([^`]*)```/g)].map(([, json]) => JSON.parse(json!));
  const details = blocks.map((block) => block.detail ?? block).filter(({ version }) => version !== undefined);
  expect(details.map(({ type }) => type)).toEqual(["task.updated", "agent.updated", "approval.resolved"]);
  for (const detail of details) expect(BoardEvent.parse(detail)).toEqual(detail);
});

test("an event keeps its id and its moment while the bus is away, and when it is redriven", async () => {
  const task = await add();
  stage.away = true;
  expect(await stage.leaving(() => changeTask(world, { token: home.owner.token }, task, { title: SAID }))).toEqual([]);
  const [job] = await eventJobs(world);
  expect(job).toMatchObject({ status: "queued", attempts: 1, crashes: 0, lane: null, last_error: "away" });
  for (let attempt = 2; attempt <= 10; attempt++) {
    world.elapse(700_000);
    await publishDue(world);
  }
  expect(await eventJobs(world)).toMatchObject([{ id: job!.id, status: "dead", attempts: 10 }]);
  stage.away = false;
  const [event] = await stage.leaving(() => redriveJobs(world.context(), [job!.id]));
  expect(event).toMatchObject({ id: job!.id, occurred_at: (job!.payload as BoardEvent).occurred_at, changed_fields: ["title"] });
  expect(await eventJobs(world)).toMatchObject([{ status: "done", last_error: null }]);
});
