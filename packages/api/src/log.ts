import type { Log, LogFields } from "@board/core/log";
import { pino } from "pino";

/** JSON lines on standard output, `timestamp`, `level`, `event` and `message` first (contract conventions.md §14). */
export function createLog(level: string, bindings: LogFields = {}): Log {
  const logger = pino({
    level,
    base: bindings,
    messageKey: "message",
    timestamp: () => `,"timestamp":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
  });
  const write =
    (name: "debug" | "info" | "warn" | "error") =>
    (event: string, message: string, fields: LogFields = {}) =>
      logger[name]({ event, ...fields }, message);
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}

/** The same log with fields on every line, such as those of a request. */
export function withFields(log: Log, bound: LogFields): Log {
  const write =
    (name: keyof Log) =>
    (event: string, message: string, fields: LogFields = {}) =>
      log[name](event, message, { ...bound, ...fields });
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}
