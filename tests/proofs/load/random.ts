/** A reproducible random number generator (mulberry32). */
export interface Random {
  /** Returns a number from 0 up to but not including 1. */
  (): number;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random() * list.length)]!;

/** Returns SEED from the environment, or a random seed. */
export const seedOfRun = (): number => Number(process.env["SEED"] ?? Math.floor(Math.random() * 2 ** 32));

/** Runs a test with the seed of the run, and adds the seed to the message of a failure, so that the run can be repeated. */
export async function withSeed<T>(run: (seed: number) => Promise<T>): Promise<T> {
  const seed = seedOfRun();
  return run(seed).catch((cause: unknown) => {
    throw new Error(`SEED=${seed}`, { cause });
  });
}
