const PARENT_CHECK_MS = 500;

/**
 * Stops this process when its shell has ended, which changes the parent of this process. npm passes a signal only to the shell
 * and not to the program.
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
