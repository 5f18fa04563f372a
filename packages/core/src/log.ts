export type LogFields = Record<string, unknown>;

/** The logger as the domain sees it. `event` is a fixed dotted name to search by; fields never hold secrets or bodies. */
export interface Log {
  debug(event: string, message: string, fields?: LogFields): void;
  info(event: string, message: string, fields?: LogFields): void;
  warn(event: string, message: string, fields?: LogFields): void;
  error(event: string, message: string, fields?: LogFields): void;
}

export const silent: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** What the lines of a log made by `withFields` have in common. */
const bound = new WeakMap<Log, LogFields>();

/** The same log for one unit of work, a request or a job, with its fields on every line. */
export function withFields(log: Log, fields: LogFields): Log {
  const common = { ...fields };
  const write =
    (name: keyof Log) =>
    (event: string, message: string, own: LogFields = {}) =>
      log[name](event, message, { ...common, ...own });
  const made: Log = { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
  bound.set(made, common);
  return made;
}

/**
 * Puts what was found out on the way, such as whose board this is, on all further lines of a unit of work. A log that is
 * no unit's own stays as it is.
 */
export function learn(log: Log, fields: LogFields): void {
  const common = bound.get(log);
  if (common) Object.assign(common, fields);
}

/** The text of an error for logs and job records. A failed query's own message repeats its parameters, so its cause is told instead. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return errorText(error.cause);
  // A host of several addresses was tried at each: what says so has no text of its own.
  if (error instanceof AggregateError && error.message === "") return error.errors.map(errorText).join("; ");
  return error.message;
}

/** Where an error was thrown, without the message above: that of a failed query goes on with its parameters, over many lines. */
export const framesOf = (error: unknown): string | undefined =>
  error instanceof Error ? error.stack?.replace(error.message, "").split("\n").slice(1).join("\n") : undefined;
