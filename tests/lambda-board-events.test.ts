import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cloud, startCloud } from "./support/cloud.ts";
import { apiGatewayEvent, sqsEvent } from "./support/events.ts";
import { eventJobs } from "./support/board-events.ts";
import { type EventEndpoint, startEventEndpoint } from "./support/event-endpoint.ts";
import type { Lambda } from "./support/lambda-host.ts";
import type { Tenant } from "./support/world.ts";

let cloud: Cloud;
let endpoint: EventEndpoint;
let home: Tenant;

beforeAll(async () => {
  endpoint = await startEventEndpoint();
  cloud = await startCloud();
  home = await cloud.world.tenant("home");
}, 120_000);
afterAll(async () => {
  await cloud.close();
  await endpoint.stop();
});

/** A function with a bus, or, as deployments without one have it, with none. */
const start = (name: string, bus = true): Promise<Lambda> =>
  cloud.lambda(name, {
    env: {
      BOARD_EVENTS: "on",
      AWS_ENDPOINT_URL_EVENTBRIDGE: endpoint.url,
      ...(bus ? { EVENT_BUS_NAME: "board-coordination-test" } : {}),
    },
  });

async function addTasks(fn: Lambda, count: number): Promise<void> {
  const headers = { authorization: `Bearer ${home.owner.token}`, "content-type": "application/json" };
  for (let index = 0; index < count; index++) {
    const body = JSON.stringify({ title: `Task ${index}` });
    const event = apiGatewayEvent("POST", `/api/v1/boards/${home.board_id}/tasks`, { headers, body });
    expect(await fn.invoke(event)).toMatchObject({ statusCode: 200 });
  }
}

test("what happens on a board leaves through the bundles, the queue's batch and the real client, each event once", async () => {
  await addTasks(await start("tasks"), 10);
  const made = await eventJobs(cloud.world);
  expect(made).toHaveLength(10);
  const consumer = await start("deliveries");
  const batch = sqsEvent(made.map(({ id }) => ({ id })));
  // The bus is away for the first attempt, and refuses one event in the second.
  await endpoint.stop();
  expect(await consumer.invoke(batch)).toEqual({ batchItemFailures: [] });
  expect((await eventJobs(cloud.world)).map(({ status, attempts }) => [status, attempts])).toEqual(Array(10).fill(["queued", 1]));
  await endpoint.start();
  const [first] = made;
  endpoint.refused.add(first!.id);
  cloud.elapse(10_000);
  expect(await consumer.invoke(batch)).toEqual({ batchItemFailures: [] });
  endpoint.refused.clear();
  cloud.elapse(20_000);
  expect(await consumer.invoke(batch)).toEqual({ batchItemFailures: [] });
  expect(endpoint.taken.map(({ id }) => id).toSorted()).toEqual(made.map(({ id }) => id).toSorted());
  expect(endpoint.taken.at(-1)!.id).toBe(first!.id);
  expect(endpoint.calls.flat().every(({ EventBusName }) => EventBusName === "board-coordination-test")).toBe(true);
  // Fewer calls than events: those of a batch go together.
  expect(endpoint.calls.length).toBeLessThan(10);
  expect((await eventJobs(cloud.world)).every(({ status }) => status === "done")).toBe(true);
});

test("without a bus nothing is stored, and what is left from before goes nowhere", async () => {
  await addTasks(await start("tasks"), 1);
  const left = (await eventJobs(cloud.world)).filter(({ status }) => status === "queued");
  expect(left).toHaveLength(1);
  await addTasks(await start("tasks", false), 2);
  expect((await eventJobs(cloud.world)).filter(({ status }) => status === "queued")).toEqual(left);
  const calls = endpoint.calls.length;
  await (await start("deliveries", false)).invoke(sqsEvent([{ id: left[0]!.id }]));
  expect((await eventJobs(cloud.world)).every(({ status }) => status === "done")).toBe(true);
  expect(endpoint.calls).toHaveLength(calls);
});
