const DEFAULT_MINUTES = 5;
/** Divisors of an hour, so that all intervals between runs are equal. */
const ALLOWED_MINUTES = [5, 10, 15, 20, 30, 60];

/**
 * Minimum number of minutes between runs of a schedule (SCHEDULE_MINUTES). Neon suspends a database after five idle minutes,
 * so runs every five minutes keep it awake. A longer interval lets it sleep, but delays scheduled work.
 */
export const tickMinutes = Number(process.env.SCHEDULE_MINUTES || DEFAULT_MINUTES);

if (!ALLOWED_MINUTES.includes(tickMinutes)) throw new Error(`SCHEDULE_MINUTES must be one of ${ALLOWED_MINUTES.join(", ")}`);
