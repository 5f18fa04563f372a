/**
 * Load on the balancer of a cluster: requests at a steady pace and streams that follow the entries, each in a separate process, and
 * a receiver of deliveries.
 */
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { openPullBoard } from "../../support/pull-board.ts";
import { type Receiver, startReceiver } from "../../support/receiver.ts";
import type { World } from "../../support/world.ts";
import type { Cluster } from "./cluster.ts";
import type { FollowersMethods } from "./followers.ts";
import { startPart } from "./part.ts";
import { readDatabaseTime } from "./processor-time.ts";
import type { Home, RequestsMethods } from "./requests.ts";

const ORGANIZATIONS = 6;
const MAX_WAIT_MS = 120_000;
const REQUESTS = path.join(import.meta.dirname, "requests.ts");
const FOLLOWERS = path.join(import.meta.dirname, "followers.ts");

export interface LoadResult {
  requests: number;
  /** Requests that were sent again, with the same key, because their connection was cut or no process accepted it. */
  repeated: number;
  /** Why requests were sent again: the status, or that no complete answer arrived. */
  reasons: Record<string, number>;
  /** Answers other than 200, by status, and requests that got none. */
  wrong: Record<string, number>;
  /** Entries whose request was answered. */
  entries: number;
  /** Entries that a stream never showed, over all streams. */
  missed: number;
  /** Entries that exist more than once, because a repeated request was executed twice, or that are not stored at all. */
  doubled: number;
  tasks: number;
  /** Created tasks of which the subscription's receiver got no event. */
  lost_deliveries: number;
  reconnects: number;
  p50_ms: number;
  p99_ms: number;
  /** Seconds from the first request to the last answer. */
  seconds: number;
  /** Processor seconds of each part in that time. On two processors, their sum is at most twice the seconds. */
  processors: ProcessorSeconds;
}

export interface ProcessorSeconds {
  service: number;
  database: number | null;
  balancer: number;
  requests: number;
  streams: number;
}

export interface Load {
  /** Ends the load and waits until everything has arrived, up to a time limit. */
  stop(): Promise<LoadResult>;
}

interface LoadOptions {
  requests_per_second: number;
  streams: number;
}

export async function startLoad(cluster: Cluster, { requests_per_second, streams }: LoadOptions): Promise<Load> {
  const { world, balancer } = cluster;
  const { url } = balancer;
  const receiver = await startReceiver();
  const homes = await Promise.all(Array.from({ length: ORGANIZATIONS }, (_, n) => openHome(world, receiver, n)));
  const requests = startPart<RequestsMethods>(REQUESTS);
  const followers = startPart<FollowersMethods>(FOLLOWERS);
  await followers.call("begin", url, homes, streams);

  const started = Date.now();
  const readTimes = async () => ({
    service: cluster.processorTimeSince(started),
    database: await readDatabaseTime(world.db),
    balancer: await balancer.part.processorTime(),
    requests: await requests.processorTime(),
    streams: await followers.processorTime(),
  });
  const before = await readTimes();
  await requests.call("begin", { url, requests_per_second, homes });

  return {
    async stop() {
      const { created, written, durations, ...counts } = await requests.call("end");
      const seconds = Math.round((Date.now() - started) / 1_000);
      const processors = toSeconds(before, await readTimes());
      const lost = () => {
        const heard = new Set(receiver.messages.map(({ json }) => json.data.subject.id as string));
        return created.filter((id) => !heard.has(id)).length;
      };
      const missing = () => followers.call("missing", written);
      const deadline = performance.now() + MAX_WAIT_MS;
      while ((lost() > 0 || (await missing()) > 0) && performance.now() < deadline) await pause(500);
      const result = {
        ...counts,
        entries: written.flat().length,
        missed: await missing(),
        doubled: await countDoubled(url, homes, written),
        tasks: created.length,
        lost_deliveries: lost(),
        reconnects: await followers.call("reconnects"),
        p50_ms: percentile(durations, 0.5),
        p99_ms: percentile(durations, 0.99),
        seconds,
        processors,
      };
      await Promise.all([requests.stop(), followers.stop(), receiver.close()]);
      return result;
    },
  };
}

async function openHome(world: World, receiver: Receiver, number: number): Promise<Home> {
  const { board_id, owner, addTask, call } = await openPullBoard(world, `load ${number} ${crypto.randomUUID()}`);
  const body = { url: receiver.url, event_types: ["task.created"] };
  const made = await call("POST", "/api/v1/subscriptions", owner.token, body);
  if (made.status !== 200) throw new Error(`The subscription was refused: ${made.text}`);
  return { token: owner.token, board_id, task_id: await addTask() };
}

/** Reads all entries of the boards, and counts those that exist more than once or not at all. */
async function countDoubled(url: string, homes: readonly Home[], written: readonly string[][]): Promise<number> {
  let doubled = 0;
  for (const [at, { board_id, token }] of homes.entries()) {
    const headers = { authorization: `Bearer ${token}` };
    const contents: string[] = [];
    for (let offset = 0; ; offset += 200) {
      const answer = await fetch(`${url}/api/v1/boards/${board_id}/memory?limit=200&offset=${offset}`, { headers });
      const { items } = (await answer.json()) as { items: { content: string }[] };
      contents.push(...items.map(({ content }) => content));
      if (items.length < 200) break;
    }
    doubled += contents.length - new Set(contents).size + new Set(written[at]).difference(new Set(contents)).size;
  }
  return doubled;
}

type Times = { [Name in keyof ProcessorSeconds]: ProcessorSeconds[Name] };

function toSeconds(before: Times, after: Times): ProcessorSeconds {
  const between = (name: keyof Times) => Math.round(((after[name] ?? 0) - (before[name] ?? 0)) / 100) / 10;
  return {
    service: between("service"),
    database: after.database === null ? null : between("database"),
    balancer: between("balancer"),
    requests: between("requests"),
    streams: between("streams"),
  };
}

/** Returns what no restart and no update may cause. It is compared as a whole, because `toMatchObject` accepts any `wrong` for `{}`. */
export const lossesOf = ({ wrong, missed, doubled, lost_deliveries }: LoadResult) => ({
  wrong,
  missed,
  doubled,
  lost_deliveries,
});
export const NO_LOSSES: ReturnType<typeof lossesOf> = { wrong: {}, missed: 0, doubled: 0, lost_deliveries: 0 };

/** Returns the figures for the summary of a test. */
export const toFigures = ({ wrong, reasons, processors, ...figures }: LoadResult): Record<string, string | number> => ({
  ...figures,
  reasons: JSON.stringify(reasons),
  wrong: JSON.stringify(wrong),
  processors: JSON.stringify(processors),
});

export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0);
}
