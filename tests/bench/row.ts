import type { Figures } from "./load.ts";

/** A row of a table in docs/performance.md. */
export interface Row {
  what: string;
  figure: string;
  /** The target; empty without one. */
  target: string;
  /** The figure of a simple alternative, or of the lowest possible cost, from the same run. */
  baseline: string;
  /** The ratio of the figure to the baseline. */
  ratio: string;
  /** How often per second the bare driver can send the same statements without HTTP; absent when not measured. */
  floor?: string;
  /** The statements of one request, including sign-in and its jobs but not BEGIN and COMMIT; empty when not counted. */
  statements: string;
  /** The figure and the ratio from the last paired run with the reference implementation. */
  reference?: string | undefined;
}

export const round = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toFixed(2));

export const rate = ({ per_second, p99_ms, failed }: Pick<Figures, "per_second" | "p99_ms" | "failed">): string =>
  `${round(per_second)}/s, p99 ${round(p99_ms)} ms${failed ? `, ${failed} FAILED` : ""}`;

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
