export type LogFields = Record<string, unknown>;

/**
 * The log of the domain. `event` is a fixed name with dots, which can be searched for. Fields never contain secrets or bodies.
 */
export interface Log {
  debug(event: string, message: string, fields?: LogFields): void;
  info(event: string, message: string, fields?: LogFields): void;
  warn(event: string, message: string, fields?: LogFields): void;
  error(event: string, message: string, fields?: LogFields): void;
}

/** The log of one unit of work, such as a request or a job. If several units share a log, it is only a `Log`. */
export interface ScopedLog extends Log {
  /** Adds fields to all later lines of this unit of work, such as the organization once it is known. */
  addFields(fields: LogFields): void;
}

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** Creates a log for one unit of work, with `fields` on every line. */
export function createScopedLog(log: Log, fields: LogFields = {}): ScopedLog {
  const common = { ...fields };
  const write =
    (level: keyof Log) =>
    (event: string, message: string, lineFields: LogFields = {}) =>
      log[level](event, message, { ...common, ...lineFields });
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    addFields: (added) => void Object.assign(common, added),
  };
}

/**
 * Returns the text of an error for logs and job records. The cause is preferred, because the message of a failed query repeats the
 * query's parameters.
 */
export function errorText(error: unknown): string {
  if (typeof error === "object" && error !== null && !(error instanceof Error)) return thrownObjectText(error);
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return errorText(error.cause);
  // Neon's driver rejects with an event instead of an error, and its message is often empty.
  if (typeof error.cause === "object" && error.cause !== null && "message" in error.cause)
    return String(error.cause.message) || "the connection failed";
  // Connecting to a name with several addresses fails with an AggregateError, which has no message.
  if (error instanceof AggregateError && error.message === "") return error.errors.map(errorText).join("; ");
  return error.message;
}

/**
 * Returns the text of a thrown object that is not an Error, which some libraries throw. Only fields that describe an error are
 * used, because other fields may contain secrets.
 */
function thrownObjectText(thrown: { message?: unknown; name?: unknown; code?: unknown; errno?: unknown }): string {
  const { message, name, code, errno } = thrown;
  if (typeof message === "string" && message !== "") return message;
  return (
    [name, code ?? errno].filter((part) => typeof part === "string" || typeof part === "number").join(" ") || "Unknown error"
  );
}

/** Returns the stack without the message, because after a failed query the message contains the parameters, over many lines. */
export const stackFrames = (error: unknown): string | undefined =>
  error instanceof Error ? error.stack?.replace(error.message, "").split("\n").slice(1).join("\n") : undefined;
