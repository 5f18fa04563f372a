import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { openPglite } from "@board/core/db/pglite";
import type { TestProject } from "vitest/node";

/**
 * Migrates one embedded database per run. Worlds start from its dump, in a third of a second; programs that need no first
 * start of their own from a copy of its folder. Both are this run's own: another run may begin meanwhile.
 */
export default async function setup(project: TestProject): Promise<() => void> {
  const made = mkdtempSync(path.join(tmpdir(), "board-template-"));
  const [file, folder] = [path.join(made, "template.tar"), path.join(made, "database")];
  mkdirSync(folder);
  const database = await openPglite({ folder });
  await database.migrate();
  const dump = await database.client.dumpDataDir("none");
  await database.close();
  writeFileSync(file, Buffer.from(await dump.arrayBuffer()));
  project.provide("template", file);
  project.provide("templateFolder", folder);
  return () => rmSync(made, { recursive: true, force: true });
}

declare module "vitest" {
  export interface ProvidedContext {
    template: string;
    templateFolder: string;
  }
}
