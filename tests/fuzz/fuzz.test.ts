import { randomInt } from "node:crypto";
import { openPostgres } from "@board/core/db/postgres";
import { silent } from "@board/core/log";
import { expect, onTestFinished, test } from "vitest";
import { startPostgres } from "../support/postgres.ts";
import { neverSeen, neverWorked, tableOf } from "../support/fuzz/report.ts";
import { fuzz } from "../support/fuzz/run.ts";
import { startStage } from "../support/fuzz/stage.ts";
import { createWorld } from "../support/world.ts";

const { FUZZ_SEED, FUZZ_REQUESTS = "200000", FUZZ_CLIENTS = "4", FUZZ_SECONDS = "Infinity" } = process.env;
const seed = FUZZ_SEED ? Number(FUZZ_SEED) : randomInt(2 ** 31);
/** So many requests get through to every operation at least once, whatever the seed. */
const ENOUGH = 50_000;
const HOURS = 3_600_000;

const say = (text: string) => void process.stdout.write(`${text}\n`);

test(
  "whatever is sent to whichever operation, the answer is what the document promises, and nothing else changes",
  async () => {
    say(`FUZZ_SEED=${seed} FUZZ_REQUESTS=${FUZZ_REQUESTS} FUZZ_CLIENTS=${FUZZ_CLIENTS}`);
    const start = performance.now();
    const passed = () => Math.round((performance.now() - start) / 1_000);
    const postgres = await startPostgres();
    onTestFinished(() => postgres.stop());
    const database = openPostgres(await postgres.createDatabase("fuzz"), { max: 8, log: silent });
    onTestFinished(() => database.close());
    await database.migrate();
    const stage = await startStage();
    onTestFinished(() => stage.close());
    const world = await createWorld({ ...stage.world, database });
    onTestFinished(() => world.close());
    const result = await fuzz(world, {
      seed,
      requests: Number(FUZZ_REQUESTS),
      clients: Number(FUZZ_CLIENTS),
      hosts: stage.hosts,
      seconds: Number(FUZZ_SECONDS),
      progress: (requests, failures) => say(`${requests} requests, ${failures} failures, ${passed()} s`),
    });
    say(tableOf(result));
    say(`${result.requests} requests in ${passed()} s, ${result.failures.length} failures, seed ${seed}`);
    say(`Documented and never seen:\n${neverSeen(result).join("\n")}`);
    const { requests, failures, changed } = result;
    const never_worked = requests < ENOUGH ? [] : neverWorked(result);
    expect({ failures, changed, never_worked }).toEqual({ failures: [], changed: [], never_worked: [] });
  },
  12 * HOURS,
);
