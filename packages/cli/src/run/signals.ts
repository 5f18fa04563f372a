export interface StopSignals {
  /** Aborted by the first SIGINT or SIGTERM. */
  stopping: AbortSignal;
  /** Aborted by the second SIGINT or SIGTERM. */
  killing: AbortSignal;
  stopListening: () => void;
}

/** How long the process may take to end its agents after the second signal. */
const LAST_MS = 1_000;

export function listenForSignals(onFirst: () => void): StopSignals {
  const stop = new AbortController();
  const kill = new AbortController();
  const onSignal = () => {
    if (!stop.signal.aborted) {
      onFirst();
      return stop.abort();
    }
    kill.abort();
    setTimeout(() => process.exit(130), LAST_MS);
  };
  // Windows has no SIGTERM between programs: there Ctrl-C, Ctrl-Break and a closed window stop the runner.
  const names: NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP", ...(process.platform === "win32" ? ["SIGBREAK" as const] : [])];
  for (const name of names) process.on(name, onSignal);
  return {
    stopping: stop.signal,
    killing: kill.signal,
    stopListening() {
      for (const name of names) process.off(name, onSignal);
    },
  };
}
