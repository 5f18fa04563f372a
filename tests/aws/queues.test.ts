import { createWakeUpSender } from "@board/functions/queue";
import type { WakeUp } from "@board/core/job/relay";
import { expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import type { LogLine } from "../support/world.ts";
import { startSqs } from "../support/sqs.ts";

const log: Pick<LogLine, "event" | "queue">[] = [];
const note = (event: string, _message: string, fields: object = {}) => void log.push({ event, ...fields } as never);

const sqs = await setup(startSqs());
// The environment that the SQS client of a function reads.
Object.assign(process.env, sqs.env);
await sqs.create("deliveries");
await sqs.create("syncs");
await sqs.create("probes");
await sqs.create("outbound");

const wakeUp = (queue: WakeUp["queue"]): WakeUp => ({ id: crypto.randomUUID(), organization_id: null, delay_seconds: 0, queue });
const send = (list: WakeUp[], urls: Partial<Record<WakeUp["queue"], string>> = {}) =>
  createWakeUpSender({
    deliveries: sqs.url("deliveries"),
    syncs: sqs.url("syncs"),
    probes: sqs.url("probes"),
    outbound: sqs.url("outbound"),
    ...urls,
  })(list, {
    debug: note,
    info: note,
    warn: note,
    error: note,
  });
const bodies = async (queue: string) => new Set((await sqs.take(queue)).map(({ Body }) => JSON.parse(Body!).id as string));

test("each wake-up is sent to its queue", async () => {
  const list = [wakeUp("syncs"), wakeUp("deliveries"), wakeUp("syncs"), wakeUp("probes"), wakeUp("outbound")];
  expect(await send(list)).toEqual({ failed: [] });
  expect(await bodies("deliveries")).toEqual(new Set([list[1]!.id]));
  expect(await bodies("syncs")).toEqual(new Set([list[0]!.id, list[2]!.id]));
  expect(await bodies("probes")).toEqual(new Set([list[3]!.id]));
  expect(await bodies("outbound")).toEqual(new Set([list[4]!.id]));
});

test("a failing queue does not affect wake-ups for other queues", async () => {
  const list = [wakeUp("syncs"), wakeUp("deliveries")];
  const { failed } = await send(list, { syncs: sqs.url("nowhere") });
  expect(failed).toEqual([list[0]!.id]);
  expect(await bodies("deliveries")).toEqual(new Set([list[1]!.id]));
  expect(log).toEqual([expect.objectContaining({ event: "jobs.relay_failed", queue: "syncs" })]);
});
