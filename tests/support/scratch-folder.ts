import { accessSync, constants, statfsSync } from "node:fs";
import { tmpdir } from "node:os";

/** Linux keeps this folder in memory. */
const MEMORY = "/dev/shm";
/** The databases of a run take less than one gigabyte of it. */
const NEEDED_BYTES = 4 * 1024 ** 3;

/** Where tests keep databases: in memory if there is plenty. Benchmarks use the disk, which they measure. */
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
