import type { Log, LogFields } from "@board/core/log";
import { type DestinationStream, pino } from "pino";

/**
 * Each line is written before the code goes on. Left to itself the logger writes in the background, and a sandbox is frozen
 * as soon as its answer is out: the last lines of a request would come with the next one, or never.
 */
const standardOutput = () => pino.destination({ dest: 1, sync: true });

/** JSON lines on standard output, `timestamp`, `level`, `event` and `message` first (contract conventions.md §14). */
export function createLog(level: string, bindings: LogFields = {}, destination: DestinationStream = standardOutput()): Log {
  const options = {
    level,
    base: bindings,
    messageKey: "message",
    timestamp: () => `,"timestamp":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const logger = pino(options, destination);
  const write =
    (name: "debug" | "info" | "warn" | "error") =>
    (event: string, message: string, fields: LogFields = {}) =>
      logger[name]({ event, ...fields }, message);
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}
