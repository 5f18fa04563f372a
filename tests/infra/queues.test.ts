/** What waits is not lost: queues, their consumers, schedules, and what becomes of what fails for good. */
import { deliveries, type Queue, schedules, syncs } from "@board/functions/manifest";
import { expect, test } from "vitest";
import { graphOf, one, sorted } from "./graph.ts";

const graph = graphOf("production");

/** The settings of each queue with a consumer, by the name that its resources begin with. */
const QUEUES: Record<string, Queue> = { Deliveries: deliveries, Syncs: syncs };
const LONGEST_RETENTION = 14 * 24 * 60 * 60;

const mappings = graph.all("aws:lambda/eventSourceMapping:EventSourceMapping").map(({ inputs }) => {
  const queue = one(graph.queues(), inputs.eventSourceArn);
  const [, settings] = Object.entries(QUEUES).find(([prefix]) => queue.name === `${prefix}Queue`) ?? [];
  return { inputs, queue, settings };
});
const deadLettersOf = (arn: string) => one(graph.queues(), arn);

test("every queue of the manifest has one consumer, which takes as much as the manifest says", () => {
  expect(sorted(mappings.map(({ queue }) => queue.name))).toEqual(sorted(Object.keys(QUEUES).map((name) => `${name}Queue`)));
  for (const { inputs, settings } of mappings)
    expect([inputs.scalingConfig.maximumConcurrency, inputs.batchSize]).toEqual([
      settings?.max_concurrency,
      settings?.batch_size,
    ]);
});

test("a consumer reports the messages that failed, and its queue waits six times its timeout before it tries again", () => {
  for (const { inputs, queue } of mappings) {
    const { timeout } = one(graph.functions(), inputs.functionName).inputs;
    expect(inputs.functionResponseTypes).toEqual(["ReportBatchItemFailures"]);
    expect(queue.inputs.visibilityTimeoutSeconds).toBeGreaterThanOrEqual(6 * timeout + inputs.maximumBatchingWindowInSeconds);
  }
});

test("a queue with a consumer gives up after a few receives", () => {
  for (const { queue, settings } of mappings)
    expect(JSON.parse(queue.inputs.redrivePolicy).maxReceiveCount).toBe(settings?.max_receives);
});

test("every queue has dead letters or keeps them, each for one purpose and for as long as SQS allows", () => {
  const redriven = mappings.map(({ queue }) => deadLettersOf(JSON.parse(queue.inputs.redrivePolicy).deadLetterTargetArn));
  const lost = [...new Set(graph.all("aws:scheduler/schedule:Schedule").map(({ inputs }) => inputs.target.deadLetterConfig.arn))];
  const letters = [...redriven, ...lost.map(deadLettersOf)];
  for (const { inputs } of letters) expect(inputs.messageRetentionSeconds).toBe(LONGEST_RETENTION);
  expect(new Set([...letters, ...mappings.map(({ queue }) => queue)].map(({ name }) => name))).toEqual(
    new Set(graph.queues().map(({ name }) => name)),
  );
  expect(new Set(letters).size).toBe(letters.length);
});

test("every schedule runs the scheduler by the clock, tells it the time, is retried, and what is lost is kept", () => {
  const rendered = graph.all("aws:scheduler/schedule:Schedule").map(({ inputs }) => {
    expect(one(graph.functions(), inputs.target.arn).name).toBe("ScheduledFunction");
    expect(inputs.target.retryPolicy.maximumRetryAttempts).toBeGreaterThan(0);
    expect(deadLettersOf(inputs.target.deadLetterConfig.arn).name).toBe("ScheduleDeadLettersQueue");
    const { schedule, scheduledTime } = JSON.parse(inputs.target.input);
    expect(scheduledTime).toBe("<aws.scheduler.scheduled-time>");
    return [schedule, inputs.scheduleExpression];
  });
  const expected = Object.entries(schedules).map(([name, { every_minutes }]) => [
    name,
    every_minutes < 60 ? `cron(0/${every_minutes} * * * ? *)` : "cron(0 * * * ? *)",
  ]);
  expect(Object.fromEntries(rendered)).toEqual(Object.fromEntries(expected));
});

test("a run that was handed over and failed is repeated, and then kept with those that could not be handed over", () => {
  const [config, ...rest] = graph.all("aws:lambda/functionEventInvokeConfig:FunctionEventInvokeConfig");
  expect(rest).toEqual([]);
  expect(one(graph.functions(), config?.inputs.functionName).name).toBe("ScheduledFunction");
  expect(config?.inputs.maximumRetryAttempts).toBeGreaterThan(0);
  expect(deadLettersOf(config?.inputs.destinationConfig.onFailure.destination).name).toBe("ScheduleDeadLettersQueue");
});
