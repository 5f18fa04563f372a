import { DAY_MS, MINUTE_MS } from "../values/time.ts";

/** Returns whether the name is a time zone, such as `Europe/Berlin`. */
export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

/** Returns how far the clocks of a zone are ahead of UTC at a moment, in milliseconds. */
function offsetAt(zone: string, at: number): number {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
  });
  const part = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  const shown = Date.UTC(part["year"]!, part["month"]! - 1, part["day"], part["hour"], part["minute"]);
  return shown - Math.floor(at / MINUTE_MS) * MINUTE_MS;
}

const minutesOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5));

/** Returns the next moment after `now` at which the clocks of the zone show a time of day such as `08:30`. */
export function nextTimeOfDay(now: Date, time: string, zone: string): Date {
  const start = now.getTime() + offsetAt(zone, now.getTime());
  const midnight = Math.floor(start / DAY_MS) * DAY_MS;
  for (let day = 0; ; day++) {
    const shown = midnight + day * DAY_MS + minutesOf(time) * MINUTE_MS;
    // The clocks may change between `shown`, taken as UTC, and the moment that is searched. So the offset is looked up again at the
    // guess.
    const guess = shown - offsetAt(zone, shown);
    const exact = shown - offsetAt(zone, guess);
    // A time that the clocks skip is replaced by a later one, because quiet hours must be over then.
    const at = exact + offsetAt(zone, exact) === shown ? exact : Math.max(exact, guess);
    if (at > now.getTime()) return new Date(at);
  }
}

/** Returns whether the clocks of the zone show a time from `from` up to but not including `until`, which may be on the next day. */
export function isBetween(now: Date, from: string, until: string, zone: string): boolean {
  const minute = Math.floor(((now.getTime() + offsetAt(zone, now.getTime())) % DAY_MS) / MINUTE_MS);
  const [first, end] = [minutesOf(from), minutesOf(until)];
  return first <= end ? minute >= first && minute < end : minute >= first || minute < end;
}
