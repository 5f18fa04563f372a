import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

interface Contents {
  folders: string[];
  /** The files, in the order of their bytes in the packed folder. */
  files: { name: string; size: number }[];
}

const LENGTH_BYTES = 4;
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

/**
 * Packs a folder as the length of a JSON list, the list, and the bytes of the files. A tar library takes three times as long for
 * the thousand files of a database, and every first start waits for the unpacking.
 */
export function packFolder(folder: string): Buffer {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) => ({
    name: path.relative(folder, path.join(entry.parentPath, entry.name)).replaceAll("\\", "/"),
    isFolder: entry.isDirectory(),
  }));
  const names = (folders: boolean) => entries.filter(({ isFolder }) => isFolder === folders).map(({ name }) => name);
  const files = names(false).map((name) => ({ name, bytes: readFileSync(path.join(folder, name)) }));
  const contents: Contents = {
    folders: names(true).toSorted(),
    files: files.map(({ name, bytes }) => ({ name, size: bytes.length })),
  };
  const list = Buffer.from(JSON.stringify(contents));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(list.length);
  return Buffer.concat([length, list, ...files.map(({ bytes }) => bytes)]);
}

/** Writes a packed folder into an existing one. The bytes must come from `packFolder`. */
export function unpackFolder(packed: Buffer, folder: string): void {
  let offset = LENGTH_BYTES + packed.readUInt32BE();
  const { folders, files } = JSON.parse(packed.toString("utf8", LENGTH_BYTES, offset)) as Contents;
  // `packFolder` has sorted the folders, so each is created before its subfolders.
  for (const name of folders) mkdirSync(path.join(folder, name), { mode: FOLDER_MODE });
  for (const { name, size } of files)
    writeFileSync(path.join(folder, name), packed.subarray(offset, (offset += size)), { mode: FILE_MODE });
}
