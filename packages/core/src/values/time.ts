export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

export const addMs = (time: Date, ms: number): Date => new Date(time.getTime() + ms);

/** Returns the start of the UTC hour that contains the time. */
export const startOfHour = (time: Date): Date => new Date(Math.floor(time.getTime() / HOUR_MS) * HOUR_MS);

/** Returns the start of the UTC day that contains the time. */
export const startOfDay = (time: Date): Date => new Date(Math.floor(time.getTime() / DAY_MS) * DAY_MS);

export const toTimes = (times: readonly Date[]): string[] => times.map((time) => time.toISOString());

/**
 * Returns the values of a query that sums up daily and hourly counts between ascending edges, and the days and hours that an edge
 * divides. The hour of the last edge is left out, because it may have many rows. The query subtracts the rows between that edge
 * and `hour_stop` instead. If another edge divides the same hour, the hour is listed, and `hour_stop` is the last edge.
 */
export function toIntervalValues(edges: readonly Date[]) {
  const stop = edges.at(-1)!;
  const divided_hours = toTimes(distinctDivided(edges.slice(0, -1), startOfHour));
  const isDivided = divided_hours.includes(startOfHour(stop).toISOString());
  const end_of_hour = new Date(Math.ceil(stop.getTime() / HOUR_MS) * HOUR_MS);
  return {
    edges: toTimes(edges),
    start: edges[0]!.toISOString(),
    stop: stop.toISOString(),
    hour_stop: (isDivided ? stop : end_of_hour).toISOString(),
    divided_hours,
    divided_days: toTimes(distinctDivided(edges, startOfDay)),
  };
}

/**
 * Returns the starts of the periods that contain one of the times strictly inside. A time exactly at the start of a period does not
 * count.
 */
function distinctDivided(times: readonly Date[], startOf: (time: Date) => Date): Date[] {
  const divided = times.filter((time) => startOf(time).getTime() !== time.getTime());
  return [...new Set(divided.map((time) => startOf(time).getTime()))].map((start) => new Date(start));
}
