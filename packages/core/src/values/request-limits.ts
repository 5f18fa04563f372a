/** A limit that a request counts toward, as the answer's headers show it (docs/reference/conventions.md#rate-limit-headers). */
export interface LimitStatus {
  /** Name of the setting in lower case, or of the field that sets the limit. */
  name: string;
  quota: number;
  /** Null for a limit of things that exist at the same time, such as open streams. */
  window_seconds: number | null;
  /** The unit that is counted, if it is not requests. */
  unit?: LimitUnit;
  remaining: number;
  /** Seconds until more is available. */
  reset_seconds: number;
}

/** The units besides `requests` that the IETF draft registers. */
type LimitUnit = "content-bytes" | "concurrent-requests";

/** The limits of one request, by name. All copies of its context share this object. */
export type LimitStatuses = Map<string, LimitStatus>;

export const reportLimit = (limits: LimitStatuses, limit: LimitStatus): void => void limits.set(limit.name, limit);

/** A limit of things that exist at the same time, when nothing is left of it. */
export const usedUp = (
  name: string,
  quota: number,
  reset_seconds: number,
  unit: LimitUnit = "concurrent-requests",
): LimitStatus => ({
  name,
  quota,
  window_seconds: null,
  unit,
  remaining: 0,
  reset_seconds,
});
