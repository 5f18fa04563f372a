/** Queues, their consumers, schedules and dead letters: no message may be lost. */
import { deliveries, outbound, probes, type Queue, schedules, syncs } from "@board/functions/manifest";
import { expect, test } from "vitest";
import { findResource, graphOf, sorted } from "./graph.ts";

const graph = graphOf("production");

/** The settings of each queue with a consumer, by the prefix of its resource names. */
const QUEUES: Record<string, Queue> = { Deliveries: deliveries, Syncs: syncs, Probes: probes, Outbound: outbound };
const LONGEST_RETENTION = 14 * 24 * 60 * 60;

const mappings = graph.all("aws:lambda/eventSourceMapping:EventSourceMapping").map(({ inputs }) => {
  const queue = findResource(graph.queues(), inputs.eventSourceArn);
  const [, settings] = Object.entries(QUEUES).find(([prefix]) => queue.name === `${prefix}Queue`) ?? [];
  return { inputs, queue, settings };
});
const deadLettersOf = (arn: string) => findResource(graph.queues(), arn);

test("every queue of the manifest has one consumer with the batch size and concurrency of the manifest", () => {
  expect(sorted(mappings.map(({ queue }) => queue.name))).toEqual(sorted(Object.keys(QUEUES).map((name) => `${name}Queue`)));
  for (const { inputs, settings } of mappings)
    expect([inputs.scalingConfig.maximumConcurrency, inputs.batchSize]).toEqual([
      settings?.max_concurrency,
      settings?.batch_size,
    ]);
});

test("a consumer reports failed messages, and its queue's visibility timeout is at least six times the function's timeout", () => {
  for (const { inputs, queue } of mappings) {
    const { timeout } = findResource(graph.functions(), inputs.functionName).inputs;
    expect(inputs.functionResponseTypes).toEqual(["ReportBatchItemFailures"]);
    expect(queue.inputs.visibilityTimeoutSeconds).toBeGreaterThanOrEqual(6 * timeout + inputs.maximumBatchingWindowInSeconds);
  }
});

test("a queue with a consumer moves a message to the dead letters after a few receives", () => {
  for (const { queue, settings } of mappings)
    expect(JSON.parse(queue.inputs.redrivePolicy).maxReceiveCount).toBe(settings?.max_receives);
});

test("every queue has its own dead-letter queue or is itself one, and dead letters are kept as long as SQS allows", () => {
  const redriven = mappings.map(({ queue }) => deadLettersOf(JSON.parse(queue.inputs.redrivePolicy).deadLetterTargetArn));
  const scheduleDeadLetters = [
    ...new Set(graph.all("aws:scheduler/schedule:Schedule").map(({ inputs }) => inputs.target.deadLetterConfig.arn)),
  ];
  const letters = [...redriven, ...scheduleDeadLetters.map(deadLettersOf)];
  for (const { inputs } of letters) expect(inputs.messageRetentionSeconds).toBe(LONGEST_RETENTION);
  expect(new Set([...letters, ...mappings.map(({ queue }) => queue)].map(({ name }) => name))).toEqual(
    new Set(graph.queues().map(({ name }) => name)),
  );
  expect(new Set(letters).size).toBe(letters.length);
});

test("every schedule invokes the scheduler at its interval and sends the scheduled time, with retries and dead letters", () => {
  const rendered = graph.all("aws:scheduler/schedule:Schedule").map(({ inputs }) => {
    expect(findResource(graph.functions(), inputs.target.arn).name).toBe("ScheduledFunction");
    expect(inputs.target.retryPolicy.maximumRetryAttempts).toBeGreaterThan(0);
    expect(deadLettersOf(inputs.target.deadLetterConfig.arn).name).toBe("ScheduleDeadLettersQueue");
    const { schedule, scheduledTime } = JSON.parse(inputs.target.input);
    expect(scheduledTime).toBe("<aws.scheduler.scheduled-time>");
    return [schedule, inputs.scheduleExpression];
  });
  const expected = Object.entries(schedules)
    .filter(([name]) => name !== "bodies")
    .map(([name, { every_minutes }]) => [name, every_minutes < 60 ? `cron(0/${every_minutes} * * * ? *)` : "cron(0 * * * ? *)"]);
  expect(Object.fromEntries(rendered)).toEqual(Object.fromEntries(expected));
});

test("a failed run of the scheduler is retried and then becomes a dead letter of the schedules", () => {
  const [config, ...rest] = graph.all("aws:lambda/functionEventInvokeConfig:FunctionEventInvokeConfig");
  expect(rest).toEqual([]);
  expect(findResource(graph.functions(), config?.inputs.functionName).name).toBe("ScheduledFunction");
  expect(config?.inputs.maximumRetryAttempts).toBeGreaterThan(0);
  expect(deadLettersOf(config?.inputs.destinationConfig.onFailure.destination).name).toBe("ScheduleDeadLettersQueue");
});
