import { cpSync, mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import { openPglite } from "@board/core/db/pglite";
import { inject } from "vitest";
import { scratchFolder } from "./scratch-folder.ts";

/**
 * Opens a copy of the migrated embedded database, or an empty database, and deletes its folder when it is closed. To create and
 * migrate a database from nothing takes ten seconds of processor time.
 */
export async function openEmbedded({ empty = false } = {}): ReturnType<typeof openPglite> {
  const folder = mkdtempSync(path.join(scratchFolder, `board-embedded-${process.pid}-`));
  cpSync(inject("templateFolder"), folder, { recursive: true });
  const database = await openPglite({ folder });
  if (empty) await database.client.exec("drop schema accounts, drizzle, public cascade; create schema public");
  return {
    ...database,
    async close() {
      await database.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
