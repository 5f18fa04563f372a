/** Time for one kind of row. The next run removes the rest. */
const MAX_RUN_MS = 20_000;

/** A batch of rows that was removed. */
export interface RemovedBatch {
  count: number;
  /** The time up to which rows were removed, from which the next batch starts. */
  last: string | null;
}

/**
 * Removes old rows in batches of `size`, oldest first. Each batch starts where the one before ended: an index still leads to
 * removed rows until they are vacuumed, so that starting over would read more of them each time.
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
