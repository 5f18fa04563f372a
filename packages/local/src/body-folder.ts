import { randomUUID } from "node:crypto";
import { access, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import { type BodyStorage, BodyStorageError } from "@board/core/context/body-storage";

/** Files that are being written. After a crash they remain here. */
const PARTS = "parts";
const MAX_PART_AGE_MS = 3_600_000;
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

/** Keeps each body in one file, which only the user of the process can read. */
export function createBodyFolder(folder: string): BodyStorage {
  const toFile = (key: string) => path.join(folder, ...key.split("/"));
  const parts = path.join(folder, PARTS);
  let isClean = false;
  return {
    put: (key, body) =>
      withStorageErrors(async () => {
        const file = toFile(key);
        for (const made of [parts, path.dirname(file)]) await mkdir(made, { recursive: true, mode: FOLDER_MODE });
        if (!isClean) await removeOldParts(parts);
        isClean = true;
        const part = path.join(parts, randomUUID());
        try {
          await writeDurably(part, body);
          await rename(part, file);
        } finally {
          await rm(part, { force: true });
        }
        await syncFolder(path.dirname(file));
      }),

    get: (key, max_bytes) =>
      withStorageErrors(async () => {
        try {
          return await readStart(toFile(key), max_bytes);
        } catch (error) {
          if (!isMissing(error)) throw error;
          // A missing folder means that the storage is not mounted, and not that the body is lost.
          await access(folder);
          return null;
        }
      }),

    delete: (key) =>
      withStorageErrors(async () => {
        await access(folder);
        await rm(toFile(key), { force: true });
      }),
  };
}

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === "ENOENT";

async function withStorageErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new BodyStorageError(`The folder of bodies failed: ${(error as NodeJS.ErrnoException).code ?? "unknown error"}`);
  }
}

async function writeDurably(file: string, body: Uint8Array): Promise<void> {
  const handle = await open(file, "wx", FILE_MODE);
  try {
    await handle.writeFile(body);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Makes a renamed file survive a crash of the machine. Windows cannot open folders, and its file systems do not need this. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function readStart(file: string, max_bytes = Number.POSITIVE_INFINITY): Promise<Uint8Array> {
  const handle = await open(file, "r");
  try {
    const { size } = await handle.stat();
    const body = Buffer.alloc(Math.min(size, max_bytes));
    let length = 0;
    while (length < body.length) {
      const { bytesRead } = await handle.read(body, length, body.length - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return body.subarray(0, length);
  } finally {
    await handle.close();
  }
}

/** Removes only old files, because another process may still write newer ones. */
async function removeOldParts(parts: string): Promise<void> {
  const before = Date.now() - MAX_PART_AGE_MS;
  for (const name of await readdir(parts)) {
    const part = path.join(parts, name);
    const { mtimeMs } = await stat(part).catch(() => ({ mtimeMs: before }));
    if (mtimeMs < before) await rm(part, { force: true });
  }
}
