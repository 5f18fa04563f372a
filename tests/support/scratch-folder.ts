import { accessSync, constants, statfsSync } from "node:fs";
import { tmpdir } from "node:os";

/** Linux keeps this folder in memory. */
const MEMORY = "/dev/shm";
/** The databases of a run take less than one gigabyte; the rest stays free for the processes of the tests. */
const NEEDED_BYTES = 4 * 1024 ** 3;

/** The folder for the databases of tests: in memory if enough is free. Benchmarks use the disk, because they measure it. */
export const scratchFolder: string = process.env["VITEST"] && hasMemory() ? MEMORY : tmpdir();

export const isInMemory: boolean = scratchFolder === MEMORY;

function hasMemory(): boolean {
  try {
    accessSync(MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    return Math.min(bavail * bsize, process.availableMemory()) >= NEEDED_BYTES;
  } catch {
    return false;
  }
}
