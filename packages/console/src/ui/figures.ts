const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const whole = new Intl.NumberFormat("en");
const dollars = new Intl.NumberFormat("en", { style: "currency", currency: "USD" });
const smallDollars = new Intl.NumberFormat("en", { style: "currency", currency: "USD", maximumSignificantDigits: 2 });

/** Shortens a number for a narrow column, such as 12.3K. */
export const toShort = (count: number): string => compact.format(count);
export const toWhole = (count: number): string => whole.format(count);

/** Rounds a price for display only. The service computes sums from the exact decimals. */
export function toDollars(cost: string): string {
  const value = Number(cost);
  return value > 0 && value < 0.01 ? smallDollars.format(value) : dollars.format(value);
}

/** Formats a price with all its decimals, at least two. */
export function toExactDollars(cost: string): string {
  const [whole = "0", decimals = ""] = cost.split(".");
  let end = decimals.length;
  while (end > 2 && decimals[end - 1] === "0") end--;
  return `$${whole}.${decimals.slice(0, end).padEnd(2, "0")}`;
}

const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
  ["s", 1],
] as const;

/** Formats a duration in its two largest units, such as 3m 20s. */
export function toDuration(ms: number): string {
  let rest = Math.max(0, Math.floor(ms / 1_000));
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0 || parts.length > 0) parts.push(`${count}${unit}`);
  }
  return parts.slice(0, 2).join(" ") || "0s";
}
