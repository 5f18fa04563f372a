import { effect, signal, useComputed } from "@preact/signals";
import { dateFormat, inLanguage, usedLanguage } from "../language.ts";
import { visible } from "../live.ts";
import { toDuration } from "./figures.ts";

const TICK_MS = 20_000;
const now = signal(Date.now());
effect(() => {
  if (!visible.value) return;
  const tick = () => void (now.value = Date.now());
  tick();
  const timer = setInterval(tick, TICK_MS);
  return () => clearInterval(timer);
});

const UNITS = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;

const relative = inLanguage((tag) => new Intl.RelativeTimeFormat(tag, { numeric: "auto", style: "narrow" }));
/** The date and time of an instant in full. */
export const toMoment = dateFormat({ dateStyle: "medium", timeStyle: "short" });
/** The UTC day of an instant, in which usage is counted. */
export const toDay = dateFormat({ dateStyle: "medium", timeZone: "UTC" });

export function toRelative(at: string): string {
  const seconds = (Date.parse(at) - Math.max(now.value, Date.now() - TICK_MS)) / 1_000;
  for (const [unit, size] of UNITS) if (Math.abs(seconds) >= size) return relative().format(Math.trunc(seconds / size), unit);
  return relative().format(seconds > 15 ? Math.trunc(seconds) : 0, "second");
}

export const isPast = (at: string): boolean => Date.parse(at) < now.value;

/** Shows a time relative to now and updates it as time passes. */
export function Time({ at }: { at: string }) {
  return (
    <time dateTime={at} lang={usedLanguage()} title={toMoment(at)}>
      {toRelative(at)}
    </time>
  );
}

const SECOND_MS = 1_000;
let stopSeconds: (() => void) | undefined;
/** Counts seconds while a growing duration is shown on a visible page. All durations share this one timer. */
const seconds = signal(0, {
  watched() {
    stopSeconds = effect(() => {
      if (!visible.value) return;
      const timer = setInterval(() => void seconds.value++, SECOND_MS);
      return () => clearInterval(timer);
    });
  },
  unwatched() {
    stopSeconds?.();
  },
});

/** Shows how long something has lasted. Without `to`, the duration still grows, and only its text is redrawn each second. */
export function Duration({ from, to }: { from: string; to: string | null }) {
  return (
    <time title={toMoment(from)}>{to === null ? <Ticking from={from} /> : toDuration(Date.parse(to) - Date.parse(from))}</time>
  );
}

function Ticking({ from }: { from: string }) {
  const text = useComputed(() => {
    void seconds.value;
    return toDuration(Date.now() - Date.parse(from));
  });
  return <>{text}</>;
}
