import { afterAll } from "vitest";

/** The switch that `short-hashing.cjs` reads; undefined where that file is not preloaded. */
const hashing = (globalThis as Record<symbol, unknown>)[Symbol.for("board.test-hashing")] as { real: boolean } | undefined;

/** Hashes tokens as in production during the tests of a file. Call this function before agents are created. */
export function useRealHashing(): void {
  if (!hashing) return;
  hashing.real = true;
  afterAll(() => void (hashing.real = false));
}

export const isHashingShort = (): boolean => hashing?.real === false;
