/** What one look has found. */
export interface Finding {
  /** What was looked at: `settings`, `database`, `gateway Host`. */
  check: string;
  state: "ok" | "warning" | "wrong";
  found: string;
  /** One sentence on what to do; null when there is nothing to do. */
  remedy: string | null;
}

export const ok = (check: string, found: string): Finding => ({ check, state: "ok", found, remedy: null });
export const warning = (check: string, found: string, remedy: string): Finding => ({ check, state: "warning", found, remedy });
export const wrong = (check: string, found: string, remedy: string): Finding => ({ check, state: "wrong", found, remedy });

/** Deviations of clocks, in milliseconds. Newer gateways refuse two minutes, sign-in tokens are held against ten seconds. */
const SLIGHT_MS = 5_000;
const GROSS_MS = 60_000;

/** Holds somebody else's clock against this machine's. `ahead_ms` is by how much the other one is ahead, give or take `doubt_ms`. */
export function judgeClock(check: string, ahead_ms: number, doubt_ms = 0): Finding | null {
  const off = Math.max(0, Math.abs(ahead_ms) - doubt_ms);
  if (off < SLIGHT_MS) return null;
  const found = `its clock and that of this machine are ${Math.round(off / 1000)} s apart (${ahead_ms > 0 ? "it is ahead" : "it is behind"})`;
  const remedy = "Have both machines set their clocks by NTP.";
  return off < GROSS_MS ? warning(check, found, remedy) : wrong(check, found, remedy);
}

/** `1 key`, `2 keys`. */
export const some = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

const WIDTH = 8;

/** The findings for people, each with its remedy below. */
export function toText(findings: readonly Finding[]): string {
  const checks = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings.flatMap(({ check, state, found, remedy }) => [
    `${state.padEnd(WIDTH)} ${check.padEnd(checks)}  ${found}`,
    ...(remedy ? [`${" ".repeat(WIDTH + 1 + checks)}  -> ${remedy}`] : []),
  ]);
  const count = (state: Finding["state"]) => findings.filter((finding) => finding.state === state).length;
  return `${lines.join("\n")}\n\n${count("ok")} ok, ${some(count("warning"), "warning")}, ${count("wrong")} wrong`;
}
