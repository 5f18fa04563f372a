import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { openPglite } from "@board/core/db/pglite";
import type { TestProject } from "vitest/node";

/**
 * Migrates one embedded database per run. Worlds start from its dump in a third of a second, and programs from a copy of
 * its folder. Each run has its own template, since another run may start at the same time.
 */
export default async function setup(project: TestProject): Promise<() => void> {
  const root = mkdtempSync(path.join(tmpdir(), "board-template-"));
  const [file, folder] = [path.join(root, "template.tar"), path.join(root, "database")];
  mkdirSync(folder);
  const database = await openPglite({ folder });
  await database.migrate();
  const dump = await database.client.dumpDataDir("none");
  await database.close();
  writeFileSync(file, Buffer.from(await dump.arrayBuffer()));
  project.provide("template", file);
  project.provide("templateFolder", folder);
  return () => rmSync(root, { recursive: true, force: true });
}

declare module "vitest" {
  export interface ProvidedContext {
    template: string;
    templateFolder: string;
  }
}
