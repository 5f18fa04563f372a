import { statfs } from "node:fs/promises";
import type { Log } from "../values/log.ts";
import type { EmbeddedClient } from "./embedded-client.ts";

/** Size of a segment of the write-ahead log. PostgreSQL crashes when it cannot create the next segment. */
const SEGMENT_BYTES = 16 * 2 ** 20;
/** With less free space than this, the database becomes read-only. */
const MIN_FREE_BYTES = 4 * SEGMENT_BYTES;
const DISK_CHECK_MS = 1_000;
/**
 * The maximum size of the write-ahead log. A longer log triggers a checkpoint, which removes old segments. The embedded database
 * never starts a checkpoint by itself.
 */
const MAX_LOG_BYTES = 4 * SEGMENT_BYTES;
const LOG_CHECK_MS = 10_000;

/** The disk of the embedded database has too little free space. */
export class DiskFullError extends Error {
  constructor(folder: string) {
    super(`The disk of ${folder} is full: the database needs ${MIN_FREE_BYTES / 2 ** 20} MiB of free space. ${REMEDY}`);
    this.name = "DiskFullError";
  }
}

const REMEDY = "Free space on it, or move DATA_DIR to a larger disk.";

/** Throws if the disk is too full for the database to write. */
export async function requireDiskSpace(folder: string): Promise<void> {
  if ((await readFreeBytes(folder)) < MIN_FREE_BYTES) throw new DiskFullError(folder);
}

/** Returns the free space of the disk. If the file system does not report it, the guard assumes that there is enough. */
const readFreeBytes = (folder: string): Promise<number> =>
  statfs(folder).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => Number.POSITIVE_INFINITY,
  );

interface DiskGuard {
  /** Makes a newly opened client read-only if the disk is full. */
  adopt(client: EmbeddedClient): Promise<void>;
  stop(): void;
}

/** Makes the database read-only while its disk is almost full, and keeps its log short. */
export function guardDisk(folder: string, current: () => EmbeddedClient, log: Log): DiskGuard {
  let isFull = false;

  async function checkDisk(): Promise<void> {
    const free = await readFreeBytes(folder);
    if (free < MIN_FREE_BYTES === isFull) return;
    isFull = !isFull;
    if (isFull) log.error("database.disk_full", `${new DiskFullError(folder).message} Until then nothing can be written.`);
    else log.info("database.disk_freed", "The disk of the database has enough space again");
    await adopt(current());
    // A checkpoint can free space, but it must first write a segment itself.
    if (isFull && free > SEGMENT_BYTES) await current().exec("checkpoint");
  }

  async function shortenLog(): Promise<void> {
    if (isFull) return;
    const { rows } = await current().query<{ is_long: boolean }>(
      `select pg_current_wal_lsn() - redo_lsn > ${MAX_LOG_BYTES} as is_long from pg_control_checkpoint()`,
    );
    if (rows[0]?.is_long) await current().exec("checkpoint");
  }

  const adopt = (client: EmbeddedClient) => setReadOnly(client, isFull);
  const timers = [every(DISK_CHECK_MS, checkDisk), every(LOG_CHECK_MS, shortenLog)];
  return { adopt, stop: () => timers.forEach(clearInterval) };
}

async function setReadOnly(client: EmbeddedClient, on: boolean): Promise<void> {
  await client.exec(`set default_transaction_read_only = ${on ? "on" : "off"}`);
}

/**
 * Runs `check` at an interval, one run at a time. Errors are ignored: the check is repeated after the next interval, and requests
 * report the cause.
 */
function every(ms: number, check: () => Promise<void>): NodeJS.Timeout {
  let running = false;
  return setInterval(() => {
    if (running) return;
    running = true;
    void check()
      .catch(() => {})
      .finally(() => (running = false));
  }, ms).unref();
}
