import { BusError, type EventBus } from "@board/core/context/event-bus";
import { jobs } from "@board/core/schema/all-tables";
import { deliver } from "@board/api/work/handlers";
import { createEventBus } from "@board/functions/event-bus";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { listPublishJobs, boardEvent } from "../support/board-events.ts";
import { type FakeEventBridge, startFakeEventBridge } from "../support/fake-eventbridge.ts";
import { createTeam, type Team } from "../support/task-rules.ts";
import { cleanUpPrograms, dataFolder, readToken, startProgram } from "../support/program.ts";
import { call } from "../support/http.ts";
import { createWorld, type World } from "../support/world.ts";

let endpoint: FakeEventBridge;
let bus: EventBus;

for (const name of ["AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]) vi.stubEnv(name, "us-east-1");
afterAll(() => vi.unstubAllEnvs());
beforeEach(async () => {
  endpoint = await startFakeEventBridge();
  bus = createEventBus({ name: "board", endpoint: endpoint.url });
});
afterEach(() => endpoint.stop());

const createEvents = (count: number, more: object = {}) => Array.from({ length: count }, () => boardEvent(more));
const publish = (events: ReturnType<typeof createEvents>) => Promise.allSettled(events.map((event) => bus.publish(event)));
const idsOf = (list: readonly { id: string }[]) => list.map(({ id }) => id).toSorted();

test("an event is sent to the bus with its type, time and detail", async () => {
  const event = boardEvent();
  await bus.publish(event);
  expect(endpoint.calls).toEqual([
    [
      {
        EventBusName: "board",
        Source: "board-coordination",
        DetailType: "task.created",
        Time: Date.parse(event.occurred_at) / 1000,
        Detail: expect.any(String),
      },
    ],
  ]);
  expect(endpoint.taken).toEqual([event]);
});

test("events published together are sent ten per call", async () => {
  const events = createEvents(23);
  expect((await publish(events)).every(({ status }) => status === "fulfilled")).toBe(true);
  expect(endpoint.calls.map(({ length }) => length)).toEqual([10, 10, 3]);
  expect(idsOf(endpoint.taken)).toEqual(idsOf(events));
});

test("a call stays below EventBridge's size limit", async () => {
  const events = createEvents(10, { assigned_agent_id: "x".repeat(60_000) });
  await publish(events);
  expect(idsOf(endpoint.taken)).toEqual(idsOf(events));
  const sizes = endpoint.calls.map((entries) => entries.reduce((sum, { Detail }) => sum + Buffer.byteLength(Detail), 0));
  expect(sizes.length).toBeGreaterThan(1);
  for (const size of sizes) expect(size).toBeLessThan(256 * 1024);
});

test("an event that the bus refuses fails alone, with its reason", async () => {
  const events = createEvents(3);
  endpoint.refused.add(events[1]!.id);
  const results = await publish(events);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  const { reason } = results[1] as PromiseRejectedResult;
  expect(reason).toBeInstanceOf(BusError);
  expect(reason.message).toBe("The event bus did not take the event: ThrottlingException Rate exceeded");
});

test("when a call fails, all its events fail, and the next call works", async () => {
  await endpoint.stop();
  const results = (await publish(createEvents(2))) as PromiseRejectedResult[];
  for (const { reason } of results) {
    expect(reason).toBeInstanceOf(BusError);
    expect(reason.message).toContain("ECONNREFUSED");
  }
  await endpoint.start();
  await bus.publish(boardEvent());
});

test("a local server sends events to its configured endpoint and logs them", async () => {
  onTestFinished(cleanUpPrograms);
  const server = startProgram("main", {
    DATA_DIR: dataFolder(),
    PORT: "0",
    LOG_LEVEL: "debug",
    EVENTS_ENDPOINT: endpoint.url,
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "local",
    AWS_SECRET_ACCESS_KEY: "local",
  });
  const [, url] = await server.waitForOutput(/ready at (http:\S+)/);
  const token = await readToken(server);
  const post = (path: string, body: object) =>
    call((at, init) => fetch(url! + at, init), "POST", `/api/v1/${path}`, { token, body }).then((answer) => answer.body);
  const host = { name: "Host", url: "ws://127.0.0.1:9", token: "test-token-123", workspace_root: "/srv/agents" };
  const { id: gateway_id } = await post("gateways", host);
  const { id: board_id } = await post("boards", { name: "Releases", description: "What we ship", gateway_id });
  const { id } = await post(`boards/${board_id}/tasks`, { title: "Sweep" });
  await vi.waitFor(() => expect(endpoint.taken).toMatchObject([{ type: "task.created", board_id, subject: { id } }]), {
    timeout: 10_000,
  });
  expect(endpoint.calls[0]).toMatchObject([{ EventBusName: "default", DetailType: "task.created" }]);
  const line = await server.waitForOutput(/^.*"event":"board\.event".*$/m);
  expect(JSON.parse(line[0])).toMatchObject({ level: "debug", id: endpoint.taken[0]!.id, board_id });
});

describe("events published by jobs", () => {
  let world: World;
  let home: Team;

  beforeAll(async () => {
    const current: EventBus = { publish: (event) => bus.publish(event) };
    world = await createWorld({ bus: current, environment: { BOARD_EVENTS: "on" } });
    home = await createTeam(world, "home");
  });
  afterAll(() => world.close());
  beforeEach(() => world.db.delete(jobs));

  /** Creates tasks and returns the ids that their events must have. */
  async function createTasks(count: number): Promise<string[]> {
    const path = `/api/v1/boards/${home.board_id}/tasks`;
    for (let index = 0; index < count; index++) {
      const created = await world.call("POST", path, { token: home.owner.token, body: { title: `Task ${index}` } });
      expect(created.status).toBe(200);
    }
    return idsOf(await listPublishJobs(world));
  }
  /** Delivers all due jobs at once, like the records of a batch. */
  async function deliverDue(): Promise<void> {
    const due = (await listPublishJobs(world)).filter(({ status, run_at }) => status === "queued" && run_at <= world.now());
    await Promise.all(due.map(({ id }) => deliver(world.context(), id)));
  }
  const statuses = async () => (await listPublishJobs(world)).map(({ status }) => status);

  test("only a refused event is sent again, with the same id", async () => {
    const ids = await createTasks(4);
    const [refused] = ids as [string];
    endpoint.refused.add(refused);
    await deliverDue();
    expect((await listPublishJobs(world)).filter(({ status }) => status !== "done")).toMatchObject([
      { id: refused, attempts: 1 },
    ]);
    expect(idsOf(endpoint.taken)).toEqual(ids.filter((id) => id !== refused));
    endpoint.refused.clear();
    await deliverDue();
    expect(endpoint.taken).toHaveLength(3);
    world.elapse(10_000);
    await deliverDue();
    expect(idsOf(endpoint.taken)).toEqual(ids);
    expect(endpoint.taken.at(-1)!.id).toBe(refused);
  });

  test("no event is lost while the bus is down, and each arrives once when it is back", async () => {
    await endpoint.stop();
    const ids = await createTasks(6);
    await deliverDue();
    expect(new Set(await statuses())).toEqual(new Set(["queued"]));
    await endpoint.start();
    world.elapse(10_000);
    await deliverDue();
    expect(idsOf(endpoint.taken)).toEqual(ids);
    expect(new Set(await statuses())).toEqual(new Set(["done"]));
  });

  test("only events of a call without a response are sent again, with the same ids", async () => {
    endpoint.lost_answers = 2;
    const ids = await createTasks(3);
    await deliverDue();
    world.elapse(10_000);
    await deliverDue();
    const unanswered = endpoint.calls.slice(0, 2).flat().length;
    expect(endpoint.taken).toHaveLength(ids.length + unanswered);
    expect([...new Set(idsOf(endpoint.taken))]).toEqual(ids);
    expect(new Set(await statuses())).toEqual(new Set(["done"]));
  });
});
