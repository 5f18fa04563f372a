import { inLanguage } from "../language.ts";

const numbers = (options: Intl.NumberFormatOptions) => inLanguage((tag) => new Intl.NumberFormat(tag, options));
const DOLLARS = { style: "currency", currency: "USD", currencyDisplay: "narrowSymbol" } as const;

const compact = numbers({ notation: "compact", maximumFractionDigits: 1 });
const whole = numbers({});
const dollars = numbers(DOLLARS);
const smallDollars = numbers({ ...DOLLARS, maximumSignificantDigits: 2 });
const exactDollars = numbers({ ...DOLLARS, minimumFractionDigits: 2, maximumFractionDigits: 20 });

/** Shortens a number for a narrow column, such as 12.3K. */
export const toShort = (count: number): string => compact().format(count);
export const toWhole = (count: number): string => whole().format(count);

/** Rounds a price for display only. The service computes sums from the exact decimals. */
export function toDollars(cost: string): string {
  const value = Number(cost);
  return (value > 0 && value < 0.01 ? smallDollars() : dollars()).format(value);
}

/** Formats a price with all its decimals, at least two. A text is formatted exactly, while a number could be rounded. */
export const toExactDollars = (cost: string): string => exactDollars().format(cost as Intl.StringNumericLiteral);

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
