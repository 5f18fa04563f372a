import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { openPostgres } from "@board/core/db/postgres";
import { silent } from "@board/core/log";
import { stop } from "esbuild";
import type { TestProject } from "vitest/node";
import { bundleFunctions } from "../support/bundle.ts";
import { startPostgres } from "../support/postgres.ts";
import type {} from "../support/lambda-world.ts";

const TEMPLATE = "template";

/** Once per run: every function bundled, and a PostgreSQL with a migrated database of which every world gets a copy. */
export default async function prepare(project: TestProject): Promise<() => Promise<void>> {
  const bundles = mkdtempSync(path.join(tmpdir(), "board-bundles-"));
  const postgres = await startPostgres();
  await bundleFunctions(undefined, bundles);
  // The bundler's own process would keep gigabytes until the end.
  await stop();
  const database = openPostgres(await postgres.createDatabase(TEMPLATE), { max: 1, log: silent });
  await database.migrate();
  await database.close();
  project.provide("lambda", { server: postgres.url("").slice(0, -1), template: TEMPLATE, bundles });
  return async () => {
    await postgres.stop();
    rmSync(bundles, { recursive: true, force: true });
  };
}
