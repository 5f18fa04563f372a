export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

export const addMs = (time: Date, ms: number): Date => new Date(time.getTime() + ms);

/** The start of the UTC hour that contains the time. */
export const startOfHour = (time: Date): Date => new Date(Math.floor(time.getTime() / HOUR_MS) * HOUR_MS);

/** The end of the UTC hour that contains the time; a time at the start of an hour is the end of the hour before it. */
export const endOfHour = (time: Date): Date => new Date(Math.ceil(time.getTime() / HOUR_MS) * HOUR_MS);

/** The start of the UTC day that contains the time. */
export const startOfDay = (time: Date): Date => new Date(Math.floor(time.getTime() / DAY_MS) * DAY_MS);

/** The starts of the UTC hours that contain one of the times strictly inside. A time exactly at the start of an hour has none. */
export const dividedHours = (times: readonly Date[]): Date[] => distinctDivided(times, startOfHour);

/** The starts of the UTC days that contain one of the times strictly inside. A time exactly at the start of a day has none. */
export const dividedDays = (times: readonly Date[]): Date[] => distinctDivided(times, startOfDay);

function distinctDivided(times: readonly Date[], startOf: (time: Date) => Date): Date[] {
  const divided = times.filter((time) => startOf(time).getTime() !== time.getTime());
  return [...new Set(divided.map((time) => startOf(time).getTime()))].map((start) => new Date(start));
}
