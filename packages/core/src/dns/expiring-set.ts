interface ExpiringSet {
  add(text: string): void;
  has(text: string): boolean;
}

/** Remembers texts for `lifetime_ms`. If there are more than `max_size`, the oldest are forgotten. */
export function createExpiringSet(lifetime_ms: number, max_size: number): ExpiringSet {
  const expiries = new Map<string, number>();
  return {
    add(text) {
      expiries.delete(text);
      expiries.set(text, performance.now() + lifetime_ms);
      const [oldest] = expiries.keys();
      if (expiries.size > max_size && oldest !== undefined) expiries.delete(oldest);
    },
    has: (text) => (expiries.get(text) ?? 0) > performance.now(),
  };
}
