import { afterAll } from "vitest";

/** What `short-hashing.cjs` reads; missing where it is not preloaded. */
const hashing = (globalThis as Record<symbol, unknown>)[Symbol.for("board.test-hashing")] as { real: boolean } | undefined;

/** Tokens of this file are hashed as in production. Call it before agents are created. */
export function useRealHashing(): void {
  if (!hashing) return;
  hashing.real = true;
  afterAll(() => void (hashing.real = false));
}

export const isHashingShort = (): boolean => hashing?.real === false;
