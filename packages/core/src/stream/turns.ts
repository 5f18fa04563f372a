export type Turns = <T>(work: () => Promise<T>) => Promise<T>;

/** Lets at most `most` pieces of work run at a time; the others wait in the order in which they came. */
export function takeTurns(most: number): Turns {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    // Whoever ends hands its place on, so that nobody who comes later gets in front.
    if (running < most) running++;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
