import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { openPostgres } from "@board/core/db/postgres";
import { jobs } from "@board/core/db/schema";
import { silent } from "@board/core/log";
import { deliveries, syncs } from "@board/functions/manifest";
import type { APIGatewayProxyStructuredResultV2, SQSBatchResponse, SQSEvent } from "aws-lambda";
import { eq } from "drizzle-orm";
import { type Bundle, bundleFunctions } from "./bundle.ts";
import { type EventSource, mapQueue } from "./event-source.ts";
import { apiGatewayEvent, type HttpOptions, sqsEvent, toResponse } from "./events.ts";
import { type Lambda, type LambdaOptions, startLambda } from "./lambda-host.ts";
import { startNeonProxy } from "./neon-proxy.ts";
import { startPostgres } from "./postgres.ts";
import { type Sqs, startSqs } from "./sqs.ts";
import { createWorld, TEST_KEYS, type World } from "./world.ts";

/** The deployed service on this machine: real bundles under AWS's runtime client, the real Neon driver and SQS client. */
export interface Cloud {
  /** The same database and settings in this process, to prepare and to look. */
  world: World;
  sqs: Sqs;
  /** A running function of the manifest, started when first asked for. */
  lambda(name: string, options?: Partial<LambdaOptions>): Promise<Lambda>;
  /** An API request to a function, as API Gateway would pass it on. */
  request(name: string, method: string, url: string, options?: HttpOptions): Promise<Response>;
  /** Invokes the consumer with records of the given bodies. */
  consume(event: SQSEvent): Promise<SQSBatchResponse>;
  /** Delivers what is live without waiting for the queue, so that one test leaves nothing in the lanes of the next. */
  settle(): Promise<void>;
  /** Connects a queue with its consumer, as the event source mapping does. */
  mapDeliveries(): EventSource;
  mapSyncs(): EventSource;
  /** Cuts every database connection, as a sandbox finds them after it was frozen. */
  dropConnections(): void;
  /** Moves the clock of this process's world and of every function. */
  elapse(ms: number): void;
  environment: Record<string, string>;
  emptyDatabase(name: string): Promise<string>;
  close(): Promise<void>;
}

/** Bundled when first asked for: most tests need few of the functions. */
const bundled = new Map<string, Promise<Bundle>>();
function bundleOnce(name: string): Promise<Bundle> {
  const bundle = bundled.get(name) ?? bundleFunctions([name]).then((bundles) => bundles[name]!);
  bundled.set(name, bundle);
  return bundle;
}

export const QUEUE = "deliveries";
export const DEAD_LETTERS = "deliveries-dead";
export const SYNCS_QUEUE = "syncs";

export async function startCloud(options: { visibility_seconds?: number } = {}): Promise<Cloud> {
  const postgres = await startPostgres();
  const proxy = await startNeonProxy({ port: postgres.port });
  const sqs = await startSqs();
  const folder = mkdtempSync(path.join(tmpdir(), "cloud-"));
  const clock = path.join(folder, "clock");
  let offset = 0;
  writeFileSync(clock, "0");
  const url = await postgres.createDatabase("board");
  const database = openPostgres(url, { max: 4, log: silent });
  await database.migrate();
  const world = await createWorld({ database });
  const queue = await sqs.create(QUEUE, {
    visibility_seconds: options.visibility_seconds ?? deliveries.visibility_seconds,
    max_receives: deliveries.max_receives,
    deadLetters: DEAD_LETTERS,
  });
  const syncQueue = await sqs.create(SYNCS_QUEUE, {
    visibility_seconds: options.visibility_seconds ?? syncs.visibility_seconds,
    max_receives: syncs.max_receives,
    deadLetters: `${SYNCS_QUEUE}-dead`,
  });
  const environment: Record<string, string> = {
    ...sqs.env,
    ...TEST_KEYS,
    DATABASE_URL: url,
    DATABASE_DRIVER: "neon",
    NEON_PROXY: proxy.address,
    DELIVERIES_QUEUE_URL: queue,
    SYNCS_QUEUE_URL: syncQueue,
    AUTH_MODE: "oidc",
    OIDC_ISSUER: world.identities.issuer,
    OIDC_JWKS_URL: `${world.identities.issuer}keys`,
    GATEWAY_ALLOWED_HOSTS: "127.0.0.0/8",
    BOARD_EVENTS: "off",
    CLOCK_FILE: clock,
  };
  const running = new Map<string, Promise<Lambda>>();
  const extra: Lambda[] = [];
  const start = async (name: string, more: Partial<LambdaOptions> = {}) =>
    startLambda({
      folder: (await bundleOnce(name)).folder,
      nodeOptions: `--require ${path.join(import.meta.dirname, "clock.cjs")}`,
      ...more,
      env: { ...environment, ...more.env },
    });

  const cloud: Cloud = {
    world,
    sqs,
    environment,
    async lambda(name, more) {
      if (more) {
        const own = await start(name, more);
        extra.push(own);
        return own;
      }
      if (!running.has(name)) running.set(name, start(name));
      return running.get(name)!;
    },
    async request(name, method, target, http) {
      const fn = await cloud.lambda(name);
      return toResponse(await fn.invoke<APIGatewayProxyStructuredResultV2>(apiGatewayEvent(method, target, http)));
    },
    async consume(event) {
      return (await cloud.lambda("deliveries")).invoke<SQSBatchResponse>(event);
    },
    async settle() {
      await sqs.purge(QUEUE);
      for (;;) {
        const live = await world.db.select().from(jobs).where(eq(jobs.status, "queued")).orderBy(jobs.seq);
        if (live.length === 0) return;
        await cloud.consume(sqsEvent(live.map(({ id }) => ({ id }))));
        await sqs.purge(QUEUE);
      }
    },
    mapDeliveries: () => mapQueue(sqs, QUEUE, (event) => cloud.consume(event), { batch_size: deliveries.batch_size }),
    mapSyncs: () =>
      mapQueue(sqs, SYNCS_QUEUE, async (event) => (await cloud.lambda("syncs")).invoke<SQSBatchResponse>(event), {
        batch_size: syncs.batch_size,
      }),
    dropConnections: () => proxy.drop(),
    elapse(ms) {
      offset += ms;
      writeFileSync(clock, String(offset));
      world.elapse(ms);
    },
    emptyDatabase: (name) => postgres.createDatabase(name),
    async close() {
      for (const fn of [...(await Promise.all(running.values())), ...extra]) await fn.stop();
      await world.close();
      await database.close();
      await sqs.close();
      await proxy.stop();
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return cloud;
}
