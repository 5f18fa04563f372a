import type { FuzzResult } from "./run.ts";

type Seen = Pick<FuzzResult, "api" | "seen">;

const countsOf = ({ seen }: Seen, name: string) => seen.get(name) ?? new Map<number, number>();

/** Returns the operations without a successful request. */
export const neverWorked = (result: Seen): string[] =>
  result.api.operations
    .filter(({ name }) => ![...countsOf(result, name).keys()].some((status) => status < 300))
    .map(({ name }) => name);

/** Returns the documented statuses that no request received. */
export const neverSeen = (result: Seen): string[] =>
  result.api.operations.flatMap(({ name, statuses }) => {
    const missing = statuses.filter((status) => !countsOf(result, name).has(status));
    return missing.length > 0 ? [`${name}: ${missing.join(" ")}`] : [];
  });

/** Lists the statuses of each operation and of all operations. */
export function tableOf(result: Seen): string {
  const totals = new Map<number, number>();
  const lines = result.api.operations.map(({ name }) => {
    const counts = [...countsOf(result, name)].toSorted(([a], [b]) => a - b);
    for (const [status, count] of counts) totals.set(status, (totals.get(status) ?? 0) + count);
    return `${name.padEnd(82)} ${counts.map(([status, count]) => `${status}: ${count}`).join(", ")}`;
  });
  const all = [...totals].toSorted(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
  return `${lines.join("\n")}\nall operations: ${all.join(", ")}`;
}
