const PARENT_CHECK_MS = 500;

/**
 * npm passes a signal only to its shell. When the shell ends, this process gets another parent and stops as if it had received
 * the signal.
 */
export function watchShell() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const shell = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(timer);
    process.kill(process.pid, "SIGTERM");
  }, PARENT_CHECK_MS).unref();
}
