import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { openPostgres } from "@board/core/db/postgres";
import { jobs } from "@board/core/schema/all-tables";
import { silentLog } from "@board/core/values/log";
import { deliveries, outbound, probes, stream, syncs } from "@board/functions/manifest";
import type { APIGatewayProxyStructuredResultV2, SQSBatchResponse, SQSEvent } from "aws-lambda";
import { eq } from "drizzle-orm";
import { type Bundle, bundleFunctions } from "../support/bundle.ts";
import { type EventSourceMapping, startQueueMapping } from "./event-source-mapping.ts";
import { apiGatewayEvent, type HttpOptions, sqsEvent, toResponse } from "../support/aws-events.ts";
import { type Lambda, type LambdaOptions, startLambda } from "../support/lambda-sandbox.ts";
import { startNeonProxy } from "../support/neon-proxy.ts";
import { startPostgres } from "../support/postgres.ts";
import { type Sqs, startSqs } from "../support/sqs.ts";
import { createWorld, TEST_KEYS, type World } from "../support/world.ts";

/** A deployment on this machine: the real bundles under AWS's runtime client, with the real Neon driver and SQS client. */
export interface AwsDeployment {
  /** A world in this process with the same database and settings, to seed and read data. */
  world: World;
  sqs: Sqs;
  /** A running function of the manifest, started at its first use. */
  lambda(name: string, options?: Partial<LambdaOptions>): Promise<Lambda>;
  /** Sends an API request to a function in the form of API Gateway. */
  request(name: string, method: string, url: string, options?: HttpOptions): Promise<Response>;
  /** Invokes the consumer of deliveries with an event of the queue. */
  consume(event: SQSEvent): Promise<SQSBatchResponse>;
  /** Runs all live jobs without waiting for the queue, so that a test leaves no job to the next. */
  deliverAll(): Promise<void>;
  /** Connects a queue with its consumer, as the event source mapping does. */
  mapDeliveries(): EventSourceMapping;
  mapSyncs(): EventSourceMapping;
  /** Cuts every database connection, as happens while a sandbox is frozen. */
  dropConnections(): void;
  /** Moves the clock of this process's world and of every function. */
  elapse(ms: number): void;
  environment: Record<string, string>;
  emptyDatabase(name: string): Promise<string>;
  close(): Promise<void>;
}

/** Functions are bundled at their first use, since most tests need few of them. */
const bundlePromises = new Map<string, Promise<Bundle>>();
function getBundle(name: string, accounts: boolean): Promise<Bundle> {
  const bundle = bundlePromises.get(name) ?? bundleFunctions([name], { accounts }).then((bundles) => bundles[name]!);
  bundlePromises.set(name, bundle);
  return bundle;
}

export const QUEUE = "deliveries";
export const DEAD_LETTERS = "deliveries-dead";
export const SYNCS_QUEUE = "syncs";
const PROBES_QUEUE = "probes";
const OUTBOUND_QUEUE = "outbound";

export async function startAwsDeployment(
  options: { visibility_seconds?: number; accounts?: boolean } = {},
): Promise<AwsDeployment> {
  const postgres = await startPostgres();
  const proxy = await startNeonProxy({ port: postgres.port });
  const sqs = await startSqs();
  const folder = mkdtempSync(path.join(tmpdir(), "cloud-"));
  const clock = path.join(folder, "clock");
  let offset = 0;
  writeFileSync(clock, "0");
  const url = await postgres.createDatabase("board");
  const database = openPostgres(url, { max: 4, log: silentLog });
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
  const probeQueue = await sqs.create(PROBES_QUEUE, {
    visibility_seconds: options.visibility_seconds ?? probes.visibility_seconds,
    max_receives: probes.max_receives,
    deadLetters: `${PROBES_QUEUE}-dead`,
  });
  const outboundQueue = await sqs.create(OUTBOUND_QUEUE, {
    visibility_seconds: options.visibility_seconds ?? outbound.visibility_seconds,
    max_receives: outbound.max_receives,
    deadLetters: `${OUTBOUND_QUEUE}-dead`,
  });
  const environment: Record<string, string> = {
    ...sqs.env,
    ...TEST_KEYS,
    DATABASE_URL: url,
    DATABASE_DRIVER: "neon",
    NEON_PROXY: proxy.address,
    QUEUE_URLS: `deliveries=${queue},syncs=${syncQueue},probes=${probeQueue},outbound=${outboundQueue}`,
    AUTH_MODE: "oidc",
    OIDC_ISSUER: world.identities.issuer,
    OIDC_JWKS_URL: `${world.identities.issuer}keys`,
    GATEWAY_ALLOWED_HOSTS: "127.0.0.0/8",
    SUBSCRIPTION_ALLOWED_HOSTS: "127.0.0.0/8",
    BOARD_EVENTS: "off",
    CLOCK_FILE: clock,
  };
  const running = new Map<string, Promise<Lambda>>();
  const extra: Lambda[] = [];
  const start = async (name: string, more: Partial<LambdaOptions> = {}) =>
    startLambda({
      folder: (await getBundle(name, options.accounts ?? false)).folder,
      nodeOptions: `--require ${path.join(import.meta.dirname, "../support/clock.cjs")}`,
      ...more,
      env: {
        ...environment,
        ...(name === "stream" ? { DATABASE_CONNECTIONS: String(stream.connections) } : {}),
        ...more.env,
      },
    });

  const cloud: AwsDeployment = {
    world,
    sqs,
    environment,
    async lambda(name, more) {
      if (more) {
        const separate = await start(name, more);
        extra.push(separate);
        return separate;
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
    async deliverAll() {
      await sqs.purge(QUEUE);
      for (;;) {
        const live = await world.db.select().from(jobs).where(eq(jobs.status, "queued")).orderBy(jobs.seq);
        if (live.length === 0) return;
        await cloud.consume(sqsEvent(live.map(({ id }) => ({ id }))));
        await sqs.purge(QUEUE);
      }
    },
    mapDeliveries: () => startQueueMapping(sqs, QUEUE, (event) => cloud.consume(event), { batch_size: deliveries.batch_size }),
    mapSyncs: () =>
      startQueueMapping(sqs, SYNCS_QUEUE, async (event) => (await cloud.lambda("syncs")).invoke<SQSBatchResponse>(event), {
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
