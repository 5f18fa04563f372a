import { dateFormat } from "../language.ts";
import type { UsageGrouping, UsageRow } from "../types.ts";
import { toPlain } from "../ui/plain.ts";

const NOBODY: Record<UsageGrouping, string> = {
  day: "unknown day",
  agent: "unknown agent",
  board: "no board",
  model: "model not reported",
  task: "no task",
};

const toDay = dateFormat({ day: "numeric", month: "short", timeZone: "UTC" });

/** Returns the name of a row's group. People and agents choose names, so control characters are made visible. */
export function nameOf({ key, name }: UsageRow, grouping: UsageGrouping): string {
  if (key === null) return NOBODY[grouping];
  if (grouping === "day") return toDay(key);
  return toPlain(name || key);
}
