import type { Figures } from "./load.ts";

/** A line of the table. */
export interface Row {
  what: string;
  figure: string;
  /** What it should be; empty where nothing was promised. */
  target: string;
  /** The naive way, or the floor, from the same run. */
  baseline: string;
  /** How far the figure is from the baseline. */
  ratio: string;
  /** Statements of one request, signing in and what its jobs do included, BEGIN and COMMIT not; empty where it is none. */
  statements: string;
}

export const round = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toFixed(2));

export const rate = ({ per_second, p99_ms, failed }: Pick<Figures, "per_second" | "p99_ms" | "failed">): string =>
  `${round(per_second)}/s, p99 ${round(p99_ms)} ms${failed ? `, ${failed} FAILED` : ""}`;

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
