/** A limit that a request counts toward, as the answer shows it (docs/reference/conventions.md#rate-limit-headers). */
export interface NotedLimit {
  /** Its setting in lower case, or the field that sets it. */
  name: string;
  quota: number;
  /** Null for a limit of what there may be at one time. */
  window_seconds: number | null;
  /** What is counted, if it is not requests. */
  unit?: LimitUnit;
  remaining: number;
  /** Seconds until more is available. */
  reset_seconds: number;
}

/** The units that the IETF draft registers, besides `requests`. */
type LimitUnit = "content-bytes" | "concurrent-requests";

/** The limits of one request, by name. All copies of its context share the object. */
export type NotedLimits = Map<string, NotedLimit>;

export const noteLimit = (limits: NotedLimits, limit: NotedLimit): void => void limits.set(limit.name, limit);

/** A limit of what there may be at one time, of which nothing is left. */
export const usedUp = (
  name: string,
  quota: number,
  reset_seconds: number,
  unit: LimitUnit = "concurrent-requests",
): NotedLimit => ({
  name,
  quota,
  window_seconds: null,
  unit,
  remaining: 0,
  reset_seconds,
});
