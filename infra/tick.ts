const DEFAULT_MINUTES = 5;
/** What divides the hour, so that runs are equally far apart. */
const ALLOWED = [5, 10, 15, 20, 30, 60];

/**
 * Least minutes between runs of a schedule (SCHEDULE_MINUTES). Neon suspends a database after five idle minutes, so that
 * runs every five minutes keep it up; longer ones let an idle service sleep, and what is left to schedules comes later.
 */
export const tickMinutes = Number(process.env.SCHEDULE_MINUTES || DEFAULT_MINUTES);

if (!ALLOWED.includes(tickMinutes)) throw new Error(`SCHEDULE_MINUTES must be one of ${ALLOWED.join(", ")}`);
