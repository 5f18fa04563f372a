import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { openPostgres } from "@board/core/db/postgres";
import { silentLog } from "@board/core/values/log";
import { createDatabaseFolder } from "@board/local/template-database";
import type { TestProject } from "vitest/node";
import { startPostgres } from "./postgres.ts";
import { scratchFolder } from "./scratch-folder.ts";

const TEMPLATE = "template";

/**
 * Migrates the databases that worlds and programs start from, once per test run. Each worker has its own server, because an open
 * transaction holds back the streams of all databases of a server.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const root = mkdtempSync(path.join(scratchFolder, `board-template-${process.pid}-`));
  const folder = path.join(root, "database");
  const files = project.vitest.state.getPaths().length;
  const workers = Math.max(1, Math.min(project.vitest.config.maxWorkers, project.config.maxWorkers, files));
  const [servers] = await Promise.all([Promise.all(Array.from({ length: workers }, () => startTemplate())), buildPrograms()]);
  await createDatabaseFolder(folder);
  project.provide(
    "servers",
    servers.map((server) => server.url("").slice(0, -1)),
  );
  project.provide("template", TEMPLATE);
  project.provide("templateFolder", folder);
  return async () => {
    await Promise.all(servers.map((server) => server.stop()));
    rmSync(root, { recursive: true, force: true });
  };
}

async function startTemplate() {
  const server = await startPostgres();
  const database = openPostgres(await server.createDatabase(TEMPLATE), { max: 1, log: silentLog });
  await database.migrate();
  await database.close();
  return server;
}

/** Builds the bundle of the service. Tests start programs from this bundle, as `npm start` does. */
async function buildPrograms(): Promise<void> {
  await promisify(execFile)(process.execPath, [path.resolve(import.meta.dirname, "../../scripts/build.mjs"), "service"]);
}

declare module "vitest" {
  export interface ProvidedContext {
    /** The URL of the PostgreSQL server of each worker, without a database. */
    servers: string[];
    /** The name of the migrated database of each server. */
    template: string;
    templateFolder: string;
  }
}
