import { expect, test } from "vitest";
import { startAwsDeployment } from "./deployment.ts";
import { apiGatewayEvent, sqsEvent } from "../support/aws-events.ts";
import { listPublishJobs } from "../support/board-events.ts";
import { startFakeEventBridge } from "../support/fake-eventbridge.ts";
import type { Lambda } from "../support/lambda-sandbox.ts";
import { setup } from "../support/fixtures.ts";

const endpoint = await setup(startFakeEventBridge());
const cloud = await setup(startAwsDeployment());
const home = await cloud.world.tenant("home");

/** Starts a function with a bus, or without one as in a deployment with board events off. */
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

test("every board event is published once when it passes through the bundles, a batch of the queue and the real client", async () => {
  await addTasks(await start("tasks"), 10);
  const published = await listPublishJobs(cloud.world);
  expect(published).toHaveLength(10);
  const consumer = await start("deliveries");
  const batch = sqsEvent(published.map(({ id }) => ({ id })));
  // The bus is unreachable for the first attempt and refuses one event in the second.
  await endpoint.stop();
  expect(await consumer.invoke(batch)).toEqual({ batchItemFailures: [] });
  expect((await listPublishJobs(cloud.world)).map(({ status, attempts }) => [status, attempts])).toEqual(
    Array(10).fill(["queued", 1]),
  );
  await endpoint.start();
  const [first] = published;
  endpoint.refused.add(first!.id);
  cloud.elapse(10_000);
  expect(await consumer.invoke(batch)).toEqual({ batchItemFailures: [] });
  endpoint.refused.clear();
  cloud.elapse(20_000);
  expect(await consumer.invoke(batch)).toEqual({ batchItemFailures: [] });
  expect(endpoint.taken.map(({ id }) => id).toSorted()).toEqual(published.map(({ id }) => id).toSorted());
  expect(endpoint.taken.at(-1)!.id).toBe(first!.id);
  expect(endpoint.calls.flat().every(({ EventBusName }) => EventBusName === "board-coordination-test")).toBe(true);
  // There are fewer calls than events, since the events of a batch are sent together.
  expect(endpoint.calls.length).toBeLessThan(10);
  expect((await listPublishJobs(cloud.world)).every(({ status }) => status === "done")).toBe(true);
});

test("without a bus no event is stored, and events stored earlier are dropped", async () => {
  await addTasks(await start("tasks"), 1);
  const pending = (await listPublishJobs(cloud.world)).filter(({ status }) => status === "queued");
  expect(pending).toHaveLength(1);
  await addTasks(await start("tasks", false), 2);
  expect((await listPublishJobs(cloud.world)).filter(({ status }) => status === "queued")).toEqual(pending);
  const calls = endpoint.calls.length;
  await (await start("deliveries", false)).invoke(sqsEvent([{ id: pending[0]!.id }]));
  expect((await listPublishJobs(cloud.world)).every(({ status }) => status === "done")).toBe(true);
  expect(endpoint.calls).toHaveLength(calls);
});
