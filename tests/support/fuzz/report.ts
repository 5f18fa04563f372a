import type { FuzzResult } from "./run.ts";

type Seen = Pick<FuzzResult, "api" | "seen">;

const countsOf = ({ seen }: Seen, name: string) => seen.get(name) ?? new Map<number, number>();

/** Operations that no request has ever got through to. */
export const neverWorked = (result: Seen): string[] =>
  result.api.operations
    .filter(({ name }) => ![...countsOf(result, name).keys()].some((status) => status < 300))
    .map(({ name }) => name);

/** What the document promises of operations that were not seen to do it. */
export const neverSeen = (result: Seen): string[] =>
  result.api.operations.flatMap(({ name, statuses }) => {
    const missing = statuses.filter((status) => !countsOf(result, name).has(status));
    return missing.length > 0 ? [`${name}: ${missing.join(" ")}`] : [];
  });

/** How often each operation answered how, and all of them together. */
export function tableOf(result: Seen): string {
  const totals = new Map<number, number>();
  const lines = result.api.operations.map(({ name }) => {
    const counts = [...countsOf(result, name)].toSorted(([one], [other]) => one - other);
    for (const [status, count] of counts) totals.set(status, (totals.get(status) ?? 0) + count);
    return `${name.padEnd(82)} ${counts.map(([status, count]) => `${status}: ${count}`).join(", ")}`;
  });
  const all = [...totals].toSorted(([one], [other]) => one - other).map(([status, count]) => `${status}: ${count}`);
  return `${lines.join("\n")}\nall operations: ${all.join(", ")}`;
}
