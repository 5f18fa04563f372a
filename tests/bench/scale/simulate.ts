/**
 * `npm run simulate [-- factor ...]` prints what each part of a production stage does at multiples of the scenario in
 * docs/scale.md: a queueing model with the limits of `infra/` and the measured times, not a load test. The deployment's setting
 * API_REQUESTS_PER_SECOND applies.
 */
import { deliveries, groups, stream, streamContainer } from "../../../packages/functions/src/manifest.ts";
import { throttles } from "../../../infra/throttle.ts";
import { type Arrival, serve, throttle } from "./stages.ts";
import { arrive, createRandom, scenario, spread } from "./workload.ts";

const SECONDS = 300;
const ACCOUNT_CONCURRENCY = 1_000;
const factors = process.argv.slice(2).map(Number);
if (factors.some((factor) => !(factor > 0 && factor <= 100))) {
  console.error("Usage: npm run simulate [-- factor ...], where a factor is a number up to 100, such as 0.5 or 4.");
  process.exit(2);
}

function simulate(factor: number): Record<string, string> {
  const random = createRandom(1);
  const { throttle: all_limit, webhook_throttle } = throttles(true);
  const request_rate = (scenario.agents / scenario.wake_seconds) * scenario.requests_per_wake * factor;
  const posts = arrive(random, scenario.posts_per_second * factor, SECONDS, scenario.request_seconds);
  const requests = arrive(random, request_rate, SECONDS, scenario.request_seconds);

  const admitted_posts = throttle(posts, webhook_throttle.rate, webhook_throttle.burst);
  const kinds = new Map<Arrival, "post" | "request">();
  for (const post of admitted_posts) kinds.set(post, "post");
  for (const request of requests) kinds.set(request, "request");
  const admitted = throttle([...kinds.keys()].toSorted(byTime), all_limit.rate, all_limit.burst);

  const isPost = (arrival: Arrival) => kinds.get(arrival) === "post";
  const ingest = serve(admitted.filter(isPost), groups.ingest.max_concurrency, { queues: false });
  const unreserved = ACCOUNT_CONCURRENCY - groups.ingest.max_concurrency - stream.max_concurrency;
  const api = serve(
    admitted.filter((arrival) => !isPost(arrival)),
    unreserved,
    { queues: false },
  );

  const jobs = ingest.departures.toSorted((a, b) => a - b).map((at) => ({ at, work: deliveryTime(random) }));
  const places = deliveries.max_concurrency;
  const delivered = serve(toBatches(jobs, deliveries.batch_size), places, { queues: true });

  const statements = [
    ...ingest.departures.map((at) => ({ at, work: spread(random, scenario.database.post) })),
    ...api.departures.map((at) => ({ at, work: spread(random, scenario.database.agent_request) })),
    ...jobs.map(({ at }) => ({ at, work: spread(random, scenario.database.delivery) })),
  ];
  const database = serve(statements.toSorted(byTime), scenario.compute_units, { queues: true });
  // A sandbox keeps up to two connections to the pooler; the pooler needs one to PostgreSQL for the time of a transaction.
  const connections = database.utilization * scenario.compute_units + queueLength(database.waits);
  const stream_mb = scenario.stream_base_mb + scenario.viewers * factor * scenario.stream_mb;

  const offered = posts.length + requests.length;
  return {
    Load: `${factor}x`,
    "Refused by the throttle": percent(1 - admitted.length / offered),
    "Ingest: places, refused": `${percent(ingest.utilization)}, ${percent(ingest.refused / Math.max(1, posts.length))}`,
    "Deliveries: places, p99 wait": `${percent(delivered.utilization)}, ${seconds(quantile(delivered.waits, 0.99))}`,
    "Other functions: places": percent(api.utilization),
    "Database: processors, p99 wait": `${percent(database.utilization)}, ${seconds(quantile(database.waits, 0.99))}`,
    "Connections at work": `${Math.min(Math.ceil(connections), scenario.pooled_connections)} of ${scenario.pooled_connections}`,
    "Stream container": `${Math.round(stream_mb)} of ${Number.parseFloat(streamContainer.memory) * 1024} MB`,
  };
}

function deliveryTime(random: () => number): number {
  return random() < scenario.dead_share ? scenario.dead_seconds : spread(random, scenario.delivery_seconds);
}

/** Groups messages that arrive within 50 ms into batches. A batch occupies its sandbox until its slowest job ends. */
function toBatches(jobs: readonly Arrival[], size: number): Arrival[] {
  const batches: (Arrival & { count: number; opened: number })[] = [];
  for (const { at, work } of jobs) {
    const last = batches.at(-1);
    if (last && last.count < size && at - last.opened < 0.05) {
      last.count++;
      last.at = at;
      last.work = Math.max(last.work, work);
    } else batches.push({ at, work, count: 1, opened: at });
  }
  return batches;
}

/** Returns the average number of arrivals that wait, by Little's law. */
const queueLength = (waits: readonly number[]): number => waits.reduce((sum, wait) => sum + wait, 0) / SECONDS;
const byTime = (a: Arrival, b: Arrival): number => a.at - b.at;
const percent = (share: number): string => `${(share * 100).toFixed(share > 0 && share < 0.01 ? 1 : 0)} %`;
const seconds = (value: number): string => (value < 0.9995 ? `${Math.round(value * 1000)} ms` : `${value.toFixed(1)} s`);

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

function toTable(table: readonly Record<string, string>[]): string {
  const heads = Object.keys(table[0] ?? {});
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(heads), line(heads.map(() => "---")), ...table.map((row) => line(heads.map((head) => row[head]!)))].join("\n");
}

const rows = (factors.length > 0 ? factors : [0.5, 1, 2, 4, 8, 16]).map(simulate);
console.log(toTable(rows));
