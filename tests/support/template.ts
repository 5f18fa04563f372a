import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { openPglite } from "@board/core/db/pglite";
import type { TestProject } from "vitest/node";

/** Migrates one embedded database per run; every test file starts from a copy of its folder, in a third of a second. */
export default async function setup(project: TestProject): Promise<void> {
  const database = await openPglite();
  await database.migrate();
  const dump = await database.client.dumpDataDir("none");
  await database.close();
  const file = path.resolve(import.meta.dirname, "../../.cache/template.tar");
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, Buffer.from(await dump.arrayBuffer()));
  project.provide("template", file);
}

declare module "vitest" {
  export interface ProvidedContext {
    template: string;
  }
}
