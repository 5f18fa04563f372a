/** Collects the items of an iteration, at most `max`. */
export async function collect<T>(items: AsyncIterable<T>, max = Number.POSITIVE_INFINITY): Promise<T[]> {
  const found: T[] = [];
  if (max <= 0) return found;
  for await (const item of items) {
    found.push(item);
    if (found.length >= max) break;
  }
  return found;
}
