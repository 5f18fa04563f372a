/** Time limit of one call. The next scheduled run removes the rest. */
const MAX_RUN_MS = 20_000;

/** The result of removing one batch. */
export interface RemovedBatch {
  count: number;
  /** The time of the newest removed row, where the next batch starts. */
  last: string | null;
}

/**
 * Removes old rows in batches of `size`, oldest first. Each batch starts where the previous one ended: until a vacuum, the index
 * still leads to removed rows, and a batch that started at the beginning would read all of them again.
 */
export async function removeInBatches(
  size: number,
  removeBatch: (size: number, from: string) => Promise<RemovedBatch>,
): Promise<void> {
  const start = performance.now();
  let from: string | null = "-infinity";
  while (from !== null && performance.now() - start < MAX_RUN_MS) {
    const { count, last }: RemovedBatch = await removeBatch(size, from);
    from = count < size ? null : last;
  }
}
