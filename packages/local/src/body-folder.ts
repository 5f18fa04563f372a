import { randomUUID } from "node:crypto";
import { access, type FileHandle, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import { type BodyStorage, BodyStorageError } from "@board/core/context/body-storage";
import type { ByteRange, FileStorage } from "@board/core/context/file-storage";

/** Files that are being written. After a crash they remain here until a scheduled job removes them. */
const PARTS = "parts";
const MAX_PART_AGE_MS = 3_600_000;
const PIECE_BYTES = 65_536;
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

/** Stores each body and each file of a task in a separate file, which only the user of the process can read. */
export function createBodyFolder(folder: string): BodyStorage & FileStorage {
  const toFile = (key: string) => path.join(folder, ...key.split("/"));
  const parts = path.join(folder, PARTS);

  async function openPart(file: string): Promise<{ part: string; handle: FileHandle }> {
    for (const made of [parts, path.dirname(file)]) await mkdir(made, { recursive: true, mode: FOLDER_MODE });
    const part = path.join(parts, randomUUID());
    return { part, handle: await open(part, "wx", FILE_MODE) };
  }

  /** Writes a file. Only calls to the file system are wrapped, because an error of `chunks` is not an error of the folder. */
  async function write(key: string, chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
    const file = toFile(key);
    const { part, handle } = await withStorageErrors(() => openPart(file));
    try {
      try {
        for await (const chunk of chunks) await withStorageErrors(() => handle.writeFile(chunk));
        await withStorageErrors(() => handle.sync());
      } finally {
        await handle.close();
      }
      await withStorageErrors(() => rename(part, file));
    } finally {
      await rm(part, { force: true });
    }
    await withStorageErrors(() => syncFolder(path.dirname(file)));
  }

  return {
    put: (key, body) => write(key, [body]),
    write,

    read: (key, range) =>
      withStorageErrors(async () => {
        try {
          const file = toFile(key);
          await access(file);
          return readRange(file, range);
        } catch (error) {
          if (!isMissing(error)) throw error;
          await access(folder);
          return null;
        }
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

    removeUnfinished: () => withStorageErrors(() => removeOldParts(parts)),
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

/**
 * Reads a file in pieces and closes it, even when the reader stops early. The file is opened late, because some answers are never
 * read.
 */
async function* readRange(file: string, range?: ByteRange) {
  const handle = await withStorageErrors(() => open(file, "r"));
  try {
    const piece = Buffer.alloc(PIECE_BYTES);
    const end = range?.end ?? Number.POSITIVE_INFINITY;
    for (let at = range?.start ?? 0; at < end; ) {
      const { bytesRead } = await withStorageErrors(() => handle.read(piece, 0, Math.min(piece.length, end - at), at));
      if (bytesRead === 0) return;
      yield Uint8Array.prototype.slice.call(piece, 0, bytesRead);
      at += bytesRead;
    }
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

/** Removes only old files, because another process may still be writing newer files. */
async function removeOldParts(parts: string): Promise<void> {
  const before = Date.now() - MAX_PART_AGE_MS;
  const names = await readdir(parts).catch((error: unknown) => {
    // The folder is created by the first write. If it is missing, there is nothing to remove.
    if (isMissing(error)) return [];
    throw error;
  });
  for (const name of names) {
    const part = path.join(parts, name);
    const { mtimeMs } = await stat(part).catch(() => ({ mtimeMs: before }));
    if (mtimeMs < before) await rm(part, { force: true });
  }
}
