import * as z from "zod";
import { BOARD_EVENT_TYPES } from "../context/event-body.ts";
import { valueError } from "../values/wire.ts";

const MAX_PATTERN = 50;
/** The maximum number of stars in a pattern. Two are enough for `*.x.*`, and more would make matching slow. */
const MAX_STARS = 2;
const PATTERN = /^[a-z._*]+$/;

/** Returns whether the type of an event matches a pattern, in which `*` matches any characters. */
function matchesType(pattern: string, type: string): boolean {
  const [first = "", ...parts] = pattern.split("*");
  const last = parts.pop();
  if (last === undefined) return type === first;
  if (!type.startsWith(first) || !type.endsWith(last) || type.length < first.length + last.length) return false;
  let rest = type.slice(first.length, type.length - last.length);
  for (const part of parts) {
    const at = rest.indexOf(part);
    if (at === -1) return false;
    rest = rest.slice(at + part.length);
  }
  return true;
}

const EventPattern = z
  .string()
  .trim()
  .max(MAX_PATTERN, { abort: true })
  .refine(
    (pattern) =>
      PATTERN.test(pattern) &&
      pattern.split("*").length - 1 <= MAX_STARS &&
      BOARD_EVENT_TYPES.some((type) => matchesType(pattern, type)),
    valueError("event_types must name board events, such as task.created or task.*"),
  );

/** The event types that a subscription receives, which may be patterns. */
export const EventTypes = z
  .array(EventPattern)
  .min(1)
  .max(20)
  .transform((patterns) => [...new Set(patterns)])
  .describe("Names of board events; `*` stands for any text, as in `task.*`.");

export const ALL_EVENTS = ["*"];
