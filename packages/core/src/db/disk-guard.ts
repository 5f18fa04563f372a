import { statfs } from "node:fs/promises";
import { errorText, type Log } from "../log.ts";
import type { EmbeddedClient } from "./embedded-client.ts";

/** Below it, writes are refused: PostgreSQL crashes when it cannot write a segment (16 MiB) of its log. */
const MIN_FREE_BYTES = 64 * 2 ** 20;
const DISK_CHECK_MS = 1_000;
/** The log is removed by checkpoints, which the embedded database never starts by itself. */
const MAX_LOG_BYTES = 64 * 2 ** 20;
const LOG_CHECK_MS = 10_000;

/** The disk of the embedded database has too little space. */
export class DiskFullError extends Error {
  constructor(folder: string) {
    super(`The disk of ${folder} is full: the database needs ${MIN_FREE_BYTES / 2 ** 20} MiB of free space. ${REMEDY}`);
    this.name = "DiskFullError";
  }
}

const REMEDY = "Free space on it, or move DATA_DIR to a larger disk.";

/** Throws when the disk is too full for the database to write. A file system that does not tell counts as empty. */
export async function requireDiskSpace(folder: string): Promise<void> {
  const free = await statfs(folder).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => Number.POSITIVE_INFINITY,
  );
  if (free < MIN_FREE_BYTES) throw new DiskFullError(folder);
}

export interface DiskGuard {
  /** Applies the state of the disk to a client that was just opened. */
  adopt(client: EmbeddedClient): Promise<void>;
  stop(): void;
}

/** Makes the database read-only while its disk is almost full, and keeps its log short. */
export function guardDisk(folder: string, current: () => EmbeddedClient, log: Log): DiskGuard {
  let isFull = false;

  async function checkDisk(): Promise<void> {
    const problem = await requireDiskSpace(folder).catch((error: unknown) => errorText(error));
    if ((problem !== undefined) === isFull) return;
    isFull = problem !== undefined;
    if (isFull) log.error("database.disk_full", `${problem} Until then nothing can be written.`);
    else log.info("database.disk_freed", "The disk of the database has enough space again");
    await adopt(current());
    if (isFull) await current().exec("checkpoint");
  }

  async function shortenLog(): Promise<void> {
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

/** Runs `check` at an interval, never twice at the same time. A check that fails is repeated: the next request shows why. */
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
