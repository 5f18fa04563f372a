/**
 * Returns a function that calls `open` once and returns its result at every call. A failure is not kept, so that the next call
 * tries again.
 */
export function openOnce<T>(open: () => Promise<T>): () => Promise<T> {
  let opened: Promise<T> | undefined;
  const forget = (error: unknown): never => {
    opened = undefined;
    throw error;
  };
  return () => (opened ??= open().catch(forget));
}
