import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { openPostgres } from "@board/core/db/postgres";
import { silentLog } from "@board/core/log";
import { stop } from "esbuild";
import type { TestProject } from "vitest/node";
import { bundleFunctions } from "../../support/bundle.ts";
import { startPostgres } from "../../support/postgres.ts";
import type {} from "../../support/lambda-world.ts";

const TEMPLATE = "template";

/** Runs once: bundles every function and starts a PostgreSQL with a migrated database that every world copies. */
export default async function prepare(project: TestProject): Promise<() => Promise<void>> {
  const bundles = mkdtempSync(path.join(tmpdir(), "board-bundles-"));
  const postgres = await startPostgres();
  await bundleFunctions(undefined, bundles);
  // The bundler's process would keep gigabytes of memory until the end.
  await stop();
  const database = openPostgres(await postgres.createDatabase(TEMPLATE), { max: 1, log: silentLog });
  await database.migrate();
  await database.close();
  project.provide("lambda", { server: postgres.url("").slice(0, -1), template: TEMPLATE, bundles });
  return async () => {
    await postgres.stop();
    rmSync(bundles, { recursive: true, force: true });
  };
}
