/** A limit that a request counts toward, as shown in the answer's headers (docs/reference/conventions.md#rate-limit-headers). */
export interface LimitStatus {
  /** Name of the setting in lower case, or of the field that sets the limit. */
  name: string;
  quota: number;
  /** Null for a limit on how many things may exist at the same time, such as open streams. */
  window_seconds: number | null;
  /** The unit that is counted, unless requests are counted. */
  unit?: LimitUnit;
  remaining: number;
  /** Seconds until more is available. */
  reset_seconds: number;
}

/** The units that the IETF draft registers, besides `requests`. */
type LimitUnit = "content-bytes" | "concurrent-requests";

/** The limits of one request, by name. All copies of its context share this object. */
export type LimitStatuses = Map<string, LimitStatus>;

export const reportLimit = (limits: LimitStatuses, limit: LimitStatus): void => void limits.set(limit.name, limit);

/** Returns the status of a used-up limit on how many things may exist at the same time. */
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
