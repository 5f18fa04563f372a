/** Rejects with `createError()` if `work` takes longer than `timeout_ms`. The work itself is not cancelled. */
export async function rejectAfter<T>(work: Promise<T>, timeout_ms: number, createError: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(createError()), timeout_ms);
  });
  return await Promise.race([work, timeout]).finally(() => clearTimeout(timer));
}
