import type { Context } from "@board/core/context/context";
import { listProcesses } from "@board/core/process/presence";
import { type Finding, ok, warning } from "./finding.ts";

const CHECK = "processes";
/**
 * Each process compares its clock with times that other processes have written, for leases, rates and schedules. So the clocks must
 * agree.
 */
const CLOCK_WARNING_MS = 2_000;

/** Checks the clocks of the processes that use the database now. */
export async function checkProcesses(ctx: Pick<Context, "db">): Promise<Finding[]> {
  const processes = await listProcesses(ctx);
  if (processes.length === 0) return [];
  const wrongClocks = processes.filter(({ clock_ahead_ms }) => Math.abs(clock_ahead_ms) > CLOCK_WARNING_MS);
  if (wrongClocks.length === 0) return [ok(CHECK, `${processes.length} at work, and their clocks agree`)];
  return wrongClocks.map(({ name, clock_ahead_ms }) => {
    const seconds = (Math.abs(clock_ahead_ms) / 1_000).toFixed(1);
    const found = `the clock of ${name} is ${seconds} s ${clock_ahead_ms > 0 ? "ahead of" : "behind"} the database's`;
    return warning(CHECK, found, "Synchronize the clocks of all machines with NTP.");
  });
}
