import { mkdirSync } from "node:fs";
import path from "node:path";
import type { Settings } from "@board/core/config/settings";
import { createLazyFileStorage, type FileStorage } from "@board/core/context/file-storage";
import { createBodyFolder } from "./body-folder.ts";

/**
 * Opens the storage of tasks' files: the storage of bodies if there is one, else a folder next to the embedded database.
 * Processes that share a database have no folder in common unless the settings name one, so they get null.
 */
export function openFileStorage({ body_storage, database, data_dir }: Settings): FileStorage | null {
  if (body_storage === null) return database.driver === "pglite" ? openOwnFolder(path.resolve(data_dir, "files")) : null;
  const { place } = body_storage;
  if (place.kind === "folder") return createBodyFolder(path.resolve(place.folder));
  return createLazyFileStorage(async () => {
    const { createFileBucket } = await import("@board/functions/file-bucket");
    return createFileBucket(place);
  });
}

function openOwnFolder(folder: string): FileStorage {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return createBodyFolder(folder);
}
