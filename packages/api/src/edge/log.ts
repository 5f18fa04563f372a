import type { Log, LogFields } from "@board/core/values/log";
import { type DestinationStream, pino } from "pino";

/**
 * Writes each line synchronously. By default pino buffers lines. Lambda freezes a sandbox right after the response, so the last
 * lines of a request would appear with the next request, or never.
 */
const createStdoutDestination = () => pino.destination({ dest: 1, sync: true });

/** Creates a log that writes JSON lines to standard output (docs/reference/conventions.md#logging). */
export function createLog(
  level: string,
  bindings: LogFields = {},
  destination: DestinationStream = createStdoutDestination(),
): Log {
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
