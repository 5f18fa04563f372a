/** Runs one fault under load and checks that nothing is lost and that the service recovers. */
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import type { ServerProcess } from "../../support/server-process.ts";
import { createRandom } from "../load/random.ts";
import type { Sample } from "../load/arrivals.ts";
import { type OrdinaryWork, startWork } from "../load/ordinary-work.ts";
import { createSender, type Tenant } from "../load/tenants.ts";
import type { Fault } from "./database-faults.ts";
import type { Prepared, Surroundings } from "./environment.ts";

/** The guaranteed limit: the service works again this soon after the fault has ended. */
export const MAX_RECOVERY_MS = 5_000;
const BEFORE_MS = 1_000;
const AFTER_MS = 1_500;
/**
 * Deliveries must arrive within this time, which is shorter than the lease of a job. So the test fails if a worker loses its
 * connection and leaves a job leased.
 */
const DELIVERIES_MS = 40_000;
const PAGE = 200;

export interface FaultRun {
  work: OrdinaryWork;
  alive: boolean;
  /** When the fault ended, in milliseconds since 1970. */
  ended: number;
  recovery_ms: number;
  /** The ids of the payloads that the host received, with repetitions. */
  delivered: string[];
  stored: { payloads: string[]; comments: string[] };
  summary: Record<string, string | number>;
}

export interface FaultOptions {
  name: string;
  fault: Fault;
  database: string;
  seed: number;
}

export async function runFault(
  surroundings: Surroundings,
  server: ServerProcess,
  { tenant, task_ids }: Prepared,
  { name, fault, database, seed }: FaultOptions,
): Promise<FaultRun> {
  const { host } = surroundings;
  const messages_before = host.messages.length;
  const work = await startWork({ url: server.url, tenant, host }, task_ids);
  await pause(BEFORE_MS);
  await fault({ ...surroundings, database, random: createRandom(seed) });
  const ended = Date.now();
  const recovery_ms = await recover(server, tenant, task_ids[0]!);
  await pause(AFTER_MS);
  await work.stop(DELIVERIES_MS);
  const delivered = host.messages
    .slice(messages_before)
    .flatMap(({ message }) => /^Payload ID: (\S+)$/m.exec(message)?.slice(1) ?? []);
  const stored = server.isAlive() ? await readStored(server.url, tenant, task_ids) : { payloads: [], comments: [] };
  return {
    work,
    alive: server.isAlive(),
    ended,
    recovery_ms,
    delivered,
    stored,
    summary: {
      fault: name,
      work: work.samples.length,
      answers: formatCounts(work.samples),
      "slowest ms": Math.round(work.samples.reduce((most, { ms }) => Math.max(most, ms), 0)),
      "recovery ms": recovery_ms,
      accepted: work.accepted.length,
      delivered: delivered.length,
      alive: server.isAlive() ? "yes" : "no",
    },
  };
}

/** Asks until a person can read and write and an agent can report again, and returns how long that took. */
export async function recover(server: ServerProcess, tenant: Tenant, task_id: string): Promise<number> {
  const { url } = server;
  const start = Date.now();
  const user = createSender(url, tenant.token);
  const works = async () => {
    await user("GET", "/api/v1/boards");
    await user("PATCH", `/api/v1/boards/${tenant.board_id}/tasks/${task_id}`, { priority: `after ${start}` });
    await createSender(url, null, tenant.lead.token)("POST", "/api/v1/agent/heartbeat");
    return true;
  };
  while (server.isAlive() && Date.now() - start < 4 * MAX_RECOVERY_MS && !(await works().catch(() => false))) await pause(20);
  return Date.now() - start;
}

async function readStored(url: string, { token, board_id, signed }: Tenant, task_ids: readonly string[]) {
  const read = createSender(url, token);
  const items = async <Item>(path: string) => {
    const all: Item[] = [];
    for (;;) {
      const page = (await read("GET", `${path}?limit=${PAGE}&offset=${all.length}`)) as unknown as { items: Item[] };
      all.push(...page.items);
      if (page.items.length < PAGE) return all;
    }
  };
  const comments: string[] = [];
  for (const id of task_ids)
    comments.push(
      ...(await items<{ message: string }>(`/api/v1/boards/${board_id}/tasks/${id}/comments`)).map(({ message }) => message),
    );
  return { payloads: (await items<{ id: string }>(`${signed.path}/payloads`)).map(({ id }) => id), comments };
}

/** Checks that the process is alive, that it recovered in time, and that nothing was lost or delivered twice. */
export function expectHarmless({ work, alive, ended, recovery_ms, delivered, stored }: FaultRun): void {
  expect(alive).toBe(true);
  const unexpected = work.samples.filter(({ status }) => typeof status === "string" || (status >= 300 && status !== 503));
  expect(formatCounts(unexpected)).toBe("");
  expect(recovery_ms).toBeLessThanOrEqual(MAX_RECOVERY_MS);
  const late = work.samples.filter(({ at, status }) => status === 503 && at > ended + MAX_RECOVERY_MS);
  expect(formatCounts(late)).toBe("");
  // Everything that was accepted is stored, and each accepted post arrived once. A post without an answer may have arrived too.
  expect(work.accepted.filter((id) => !stored.payloads.includes(id))).toEqual([]);
  expect(work.comments.filter((text) => !stored.comments.includes(text))).toEqual([]);
  expect(work.accepted.filter((id) => !delivered.includes(id))).toEqual([]);
  expect(delivered.filter((id, index) => delivered.indexOf(id) !== index)).toEqual([]);
}

/** Formats the number of answers by status. A failure without a status is named with its kind. */
function formatCounts(samples: readonly Sample[]): string {
  const names = samples.map(({ kind, status }) => (typeof status === "number" ? String(status) : `${kind}: ${status}`));
  return [...Map.groupBy(names, (name) => name)].map(([name, all]) => `${name} x ${all.length}`).join(", ");
}
