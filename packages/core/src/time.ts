export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

export const addMs = (time: Date, ms: number): Date => new Date(time.getTime() + ms);

/** The start of the UTC hour that contains the time. */
export const startOfHour = (time: Date): Date => new Date(Math.floor(time.getTime() / HOUR_MS) * HOUR_MS);
