import { randomInt } from "node:crypto";
import { openPostgres } from "@board/core/db/postgres";
import { silentLog } from "@board/core/values/log";
import { expect, onTestFinished, test } from "vitest";
import { startPostgres } from "../../support/postgres.ts";
import { neverSeen, neverWorked, tableOf } from "./report.ts";
import { fuzz } from "./run.ts";
import { startFuzzEnvironment } from "./environment.ts";
import { createWorld } from "../../support/world.ts";

const { FUZZ_SEED, FUZZ_REQUESTS = "200000", FUZZ_CLIENTS = "4", FUZZ_SECONDS = "Infinity" } = process.env;
const seed = FUZZ_SEED ? Number(FUZZ_SEED) : randomInt(2 ** 31);
/** Enough requests to reach every operation with any seed. A run of 52,000 requests missed four operations. */
const FULL_COVERAGE_REQUESTS = 150_000;
const HOURS = 3_600_000;

const print = (text: string) => void process.stdout.write(`${text}\n`);

test(
  "every answer to generated requests matches the OpenAPI document, and no other organization is changed",
  async () => {
    print(`FUZZ_SEED=${seed} FUZZ_REQUESTS=${FUZZ_REQUESTS} FUZZ_CLIENTS=${FUZZ_CLIENTS}`);
    const start = performance.now();
    const passed = () => Math.round((performance.now() - start) / 1_000);
    const postgres = await startPostgres();
    onTestFinished(() => postgres.stop());
    const database = openPostgres(await postgres.createDatabase("fuzz"), { max: 8, log: silentLog });
    onTestFinished(() => database.close());
    await database.migrate();
    const environment = await startFuzzEnvironment();
    onTestFinished(() => environment.close());
    const world = await createWorld({ ...environment.world, database });
    onTestFinished(() => world.close());
    const result = await fuzz(world, {
      seed,
      requests: Number(FUZZ_REQUESTS),
      clients: Number(FUZZ_CLIENTS),
      hosts: environment.hosts,
      receiver: environment.receiver,
      seconds: Number(FUZZ_SECONDS),
      progress: (requests, failures) => print(`${requests} requests, ${failures} failures, ${passed()} s`),
      report: print,
    });
    print(tableOf(result));
    print(`${result.requests} requests in ${passed()} s, ${result.failures.length} failures, seed ${seed}`);
    print(`Documented but never seen:\n${neverSeen(result).join("\n")}`);
    const { requests, failures, changed } = result;
    const never_worked = requests < FULL_COVERAGE_REQUESTS ? [] : neverWorked(result);
    expect({ failures, changed, never_worked }).toEqual({ failures: [], changed: [], never_worked: [] });
  },
  12 * HOURS,
);
