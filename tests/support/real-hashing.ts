import { afterAll, beforeAll } from "vitest";

/** What `short-hashing.cjs` reads; missing where it is not preloaded. */
const hashing = (globalThis as Record<symbol, unknown>)[Symbol.for("board.test-hashing")] as { real: boolean } | undefined;

/** Tokens of this file are hashed as in production. Call it before the hooks that create agents. */
export function useRealHashing(): void {
  const set = (real: boolean) => () => {
    if (hashing) hashing.real = real;
  };
  beforeAll(set(true));
  afterAll(set(false));
}

export const isHashingShort = (): boolean => hashing?.real === false;
