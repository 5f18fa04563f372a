import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { openPglite } from "@board/core/db/pglite";
import type { TestProject } from "vitest/node";

/**
 * Migrates one embedded database per run. Worlds start from its dump, in a third of a second; programs that need no first
 * start of their own from a copy of its folder.
 */
export default async function setup(project: TestProject): Promise<void> {
  const cache = path.resolve(import.meta.dirname, "../../.cache");
  const [file, folder] = [path.join(cache, "template.tar"), path.join(cache, "template")];
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const database = await openPglite({ folder });
  await database.migrate();
  const dump = await database.client.dumpDataDir("none");
  await database.close();
  writeFileSync(file, Buffer.from(await dump.arrayBuffer()));
  project.provide("template", file);
  project.provide("templateFolder", folder);
}

declare module "vitest" {
  export interface ProvidedContext {
    template: string;
    templateFolder: string;
  }
}
