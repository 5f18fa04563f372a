/** The invariants after every chaos run. */
import { expect } from "vitest";
import type { FakeGateway } from "../../support/fake-gateway/server.ts";
import type { FleetRun } from "../load/fleet-run.ts";
import type { Attempt } from "./chaos.ts";

/** The beginning and the end of a stored post. A post without an answer has no end. */
interface Stored {
  payload_id: string;
  begin: number;
  end: number;
}

export interface ChaosRun extends Pick<FleetRun<unknown>, "rows" | "errors"> {
  attempts: readonly Attempt[];
  hosts: readonly FakeGateway[];
}

export async function expectInvariants({ attempts, hosts, rows, errors }: ChaosRun): Promise<void> {
  expect(errors).toEqual([]);
  const payloads = await rows<{ id: string; webhook_id: string; attempt: number }>(
    "select id, webhook_id, (convert_from(body, 'UTF8')::json ->> 'attempt')::int as attempt from board_webhook_payloads",
  );
  const byBegin = new Map(attempts.map((attempt) => [attempt.begin, attempt]));

  // An accepted post is stored once, and a post without an answer at most once.
  const accepted = attempts.flatMap(({ payload_id }) => (payload_id === null ? [] : [payload_id]));
  const ids = new Set(payloads.map(({ id }) => id));
  expect(accepted.filter((id) => !ids.has(id))).toEqual([]);
  expect(new Set(accepted).size).toBe(accepted.length);
  expect(new Set(payloads.map(({ attempt }) => attempt)).size).toBe(payloads.length);
  for (const { id, attempt, webhook_id } of payloads) {
    const { payload_id, hook } = byBegin.get(attempt)!;
    if (payload_id !== id || hook.id !== webhook_id) expect([payload_id, webhook_id]).toEqual([null, hook.id]);
  }

  // Each payload has one memory entry and one notification, which is done.
  const remembered = await rows<{ payload_id: string }>(
    "select substring(content from 'Payload ID: ([0-9a-f-]+)') as payload_id from board_memory where source = 'webhook'",
  );
  expect(sorted(remembered.map(({ payload_id }) => payload_id))).toEqual(sorted(ids));
  // Other jobs, which read the usage of hosts, are done too.
  const jobs = await rows<{ kind: string; status: string; payload_id: string; last_error: string | null }>(
    "select kind, status, payload ->> 'payload_id' as payload_id, last_error from jobs",
  );
  expect(jobs.filter(({ status }) => status !== "done")).toEqual([]);
  const notified = jobs.filter(({ kind }) => kind === "webhook.notify");
  expect(sorted(notified.map(({ payload_id }) => payload_id))).toEqual(sorted(ids));

  // Each agent received each of its payloads once, even if it was sent several times.
  const heard = hosts.flatMap(({ messages }) => messages.map(({ idempotency_key }) => idempotency_key));
  const wanted = payloads.map(({ id, attempt }) => `webhook-${id}-${byBegin.get(attempt)!.hook.agent_id}`);
  expect(sorted(heard)).toEqual(sorted(wanted));

  // If a post begins after another one was answered, their common agent receives them in that order.
  const known = new Map(
    payloads.map(({ id, attempt }): [string, Stored] => {
      const { begin, end } = byBegin.get(attempt)!;
      return [id, { payload_id: id, begin, end: end ?? Number.POSITIVE_INFINITY }];
    }),
  );
  for (const { messages } of hosts)
    for (const [, own] of Map.groupBy(messages, ({ session_key }) => session_key))
      expect(findOutOfOrder(own.map(({ idempotency_key }) => known.get(idempotency_key.slice(8, 44))!))).toEqual([]);
}

const sorted = (list: Iterable<string>): string[] => [...list].toSorted();

/** Returns the payloads that were received before a payload that was posted earlier. */
function findOutOfOrder(heard: readonly Stored[]): string[] {
  let earliest_end = Number.POSITIVE_INFINITY;
  return heard.toReversed().flatMap(({ payload_id, begin, end }) => {
    const isWrong = earliest_end < begin;
    earliest_end = Math.min(earliest_end, end);
    return isWrong ? [payload_id] : [];
  });
}
