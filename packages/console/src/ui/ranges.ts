import type { Dashboard } from "../types.ts";

/** The times that figures can cover. */
export const RANGE_NAMES: Record<Dashboard["range"], string> = {
  "24h": "Last day",
  "3d": "Last 3 days",
  "7d": "Last 7 days",
  "14d": "Last 14 days",
  "1m": "Last month",
  "3m": "Last 3 months",
  "6m": "Last 6 months",
  "1y": "Last year",
};
