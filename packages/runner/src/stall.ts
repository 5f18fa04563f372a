export interface StallWatch {
  /** Notes that the agent has shown that it is alive. */
  sign(): void;
  /** Silence does not count while a person is asked. */
  pause(): void;
  resume(): void;
  stop(): void;
}

/** Calls `onStall` when the agent was silent for `ms` milliseconds. */
export function watchStall(ms: number, onStall: () => void): StallWatch {
  let last = performance.now();
  let isPaused = false;
  const timer = setInterval(
    () => {
      if (isPaused || performance.now() - last < ms) return;
      clearInterval(timer);
      onStall();
    },
    Math.min(Math.max(ms / 10, 50), 10_000),
  );
  return {
    sign: () => void (last = performance.now()),
    pause: () => void (isPaused = true),
    resume() {
      isPaused = false;
      last = performance.now();
    },
    stop: () => clearInterval(timer),
  };
}
