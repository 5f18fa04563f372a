import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";

/** Creates a folder with a migration for each of the texts. The folder is deleted after the test. */
export async function createMigrations(...texts: string[]): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "migration-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(path.join(folder, "meta"));
  const entries = texts.map((_, idx) => ({ idx, version: "7", when: idx + 1, tag: `000${idx}_step`, breakpoints: true }));
  await writeFile(path.join(folder, "meta", "_journal.json"), JSON.stringify({ version: "7", dialect: "postgresql", entries }));
  for (const [idx, text] of texts.entries()) await writeFile(path.join(folder, `000${idx}_step.sql`), text);
  return folder;
}
