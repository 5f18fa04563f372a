/** The result of one check. */
export interface Finding {
  /** What was checked: `settings`, `database`, `gateway Host`. */
  check: string;
  state: "ok" | "warning" | "wrong";
  found: string;
  /** One sentence on what to do, or null if nothing is wrong. */
  remedy: string | null;
}

export const ok = (check: string, found: string): Finding => ({ check, state: "ok", found, remedy: null });
export const warning = (check: string, found: string, remedy: string): Finding => ({ check, state: "warning", found, remedy });
export const wrong = (check: string, found: string, remedy: string): Finding => ({ check, state: "wrong", found, remedy });

/**
 * A difference between two clocks of at least this much causes a warning. Newer hosts reject signatures that are off by two
 * minutes. Checks of tokens allow only ten seconds.
 */
const CLOCK_WARNING_MS = 5_000;
const CLOCK_ERROR_MS = 60_000;

/** Compares another clock with this machine's clock. The other clock is ahead by `ahead_ms`, plus or minus `uncertainty_ms`. */
export function checkClock(check: string, ahead_ms: number, uncertainty_ms = 0): Finding | null {
  const offset_ms = Math.max(0, Math.abs(ahead_ms) - uncertainty_ms);
  if (offset_ms < CLOCK_WARNING_MS) return null;
  const found = `its clock and that of this machine are ${Math.round(offset_ms / 1000)} s apart (${ahead_ms > 0 ? "it is ahead" : "it is behind"})`;
  const remedy = "Synchronize the clocks of both machines with NTP.";
  return offset_ms < CLOCK_ERROR_MS ? warning(check, found, remedy) : wrong(check, found, remedy);
}

/** Returns a count with its noun, such as `1 key` or `2 keys`. */
export const pluralize = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

const STATE_WIDTH = 8;

/** Formats the findings as text, each followed by its remedy. */
export function formatFindings(findings: readonly Finding[]): string {
  const checks = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings.flatMap(({ check, state, found, remedy }) => [
    `${state.padEnd(STATE_WIDTH)} ${check.padEnd(checks)}  ${found}`,
    ...(remedy ? [`${" ".repeat(STATE_WIDTH + 1 + checks)}  -> ${remedy}`] : []),
  ]);
  const count = (state: Finding["state"]) => findings.filter((finding) => finding.state === state).length;
  return `${lines.join("\n")}\n\n${count("ok")} ok, ${pluralize(count("warning"), "warning")}, ${count("wrong")} wrong`;
}
