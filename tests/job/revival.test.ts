import { jobs } from "@board/core/schema/all-tables";
import type { Webhook } from "@board/core/webhook/webhook";
import { eq } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import type { FakeGateway } from "../support/fake-gateway/server.ts";
import { setupHostedWebhooks } from "../support/hosted-webhook.ts";
import { getPayloadJob } from "../support/jobs.ts";
import { postPayload } from "../support/webhook.ts";
import type { Tenant, World } from "../support/world.ts";

const HOUR_MS = 3_600_000;

let world: World;
let host: FakeGateway;
let home: Tenant;
let webhook: Webhook;

const open = setupHostedWebhooks();
beforeEach(async () => {
  ({ world, host, home, webhook } = await open());
});

const statusOf = async (payload_id: string) => (await getPayloadJob(world, payload_id)).status;
/** Lets time pass until the notification is given up. */
async function giveUp(payload_id: string): Promise<void> {
  while ((await statusOf(payload_id)) !== "dead") {
    await world.drain();
    world.elapse(10 * 60_000);
  }
}
/** Requests the status of the gateway. Like any call that reaches the host, it records that the host is back. */
const contactHost = () => world.call("GET", `/api/v1/gateway/status?gateway_id=${home.gateway_id}`, { token: home.owner.token });
const told = (payload_id: string) => host.messages.filter(({ message }) => message.includes(payload_id));

test("a job that died while its host was down runs again when the host is back", async () => {
  const id = await postPayload(world, webhook);
  await host.stop();
  await giveUp(id);
  await host.start();
  expect(await statusOf(id)).toBe("dead");
  await contactHost();
  expect(await getPayloadJob(world, id)).toMatchObject({ status: "queued", attempts: 0 });
  expect(world.log.find(({ event }) => event === "jobs.revived")).toMatchObject({ revived: 1, gateway_id: home.gateway_id });
  await world.drain();
  expect(told(id)).toHaveLength(1);
});

test("a job that died again because its host was unreachable is not revived a second time", async () => {
  const id = await postPayload(world, webhook);
  await host.stop();
  await giveUp(id);
  await host.start();
  await contactHost();
  await host.stop();
  await giveUp(id);
  await host.start();
  await contactHost();
  expect(await statusOf(id)).toBe("dead");
});

test("a job that died more than 24 hours before its host is back stays dead", async () => {
  const id = await postPayload(world, webhook);
  await host.stop();
  await giveUp(id);
  world.elapse(25 * HOUR_MS);
  await host.start();
  await contactHost();
  expect(await statusOf(id)).toBe("dead");
});

test("a job that its host refused is not revived when the host is back from an outage", async () => {
  const id = await postPayload(world, webhook);
  host.failNext("chat.send", { code: "INVALID_REQUEST", message: "not this one" }, 100);
  await giveUp(id);
  await host.stop();
  await contactHost();
  await host.start();
  await contactHost();
  expect(await statusOf(id)).toBe("dead");
});

test("a dead job runs once although several requests find its host again while the job is redriven", async () => {
  const id = await postPayload(world, webhook);
  await host.stop();
  await giveUp(id);
  await host.start();
  const redrive = () => world.call("POST", "/api/v1/jobs/redrive", { token: home.owner.token, body: {} });
  const answers = await Promise.all([contactHost(), redrive(), contactHost(), redrive(), contactHost()]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  await world.drain();
  expect(told(id)).toHaveLength(1);
  expect(await world.db.$count(jobs, eq(jobs.status, "dead"))).toBe(0);
});
