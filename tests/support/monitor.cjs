// Preloaded into a server: every 100 ms it appends its memory, its processor time and the longest stall of its event loop to MONITOR_FILE.
const { appendFileSync } = require("node:fs");
const { monitorEventLoopDelay } = require("node:perf_hooks");
const { isMainThread } = require("node:worker_threads");

if (isMainThread) {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  let peak = 0;
  const sample = () => {
    // The kernel's peak also shows memory that was taken and released between two samples.
    const max_rss = process.resourceUsage().maxRSS * 1024;
    const rss = max_rss > peak ? max_rss : process.memoryUsage.rss();
    peak = max_rss;
    const { user, system } = process.cpuUsage();
    const line = { at: Date.now(), rss, stall_ms: delay.max / 1e6, processor_ms: (user + system) / 1_000 };
    appendFileSync(process.env.MONITOR_FILE, `${JSON.stringify(line)}\n`);
    delay.reset();
  };
  setInterval(sample, 100).unref();
}
