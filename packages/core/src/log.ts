export type LogFields = Record<string, unknown>;

/** The logger as the domain sees it. `event` is a fixed dotted name to search by; fields never hold secrets or bodies. */
export interface Log {
  debug(event: string, message: string, fields?: LogFields): void;
  info(event: string, message: string, fields?: LogFields): void;
  warn(event: string, message: string, fields?: LogFields): void;
  error(event: string, message: string, fields?: LogFields): void;
}

export const silent: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** The text of an error for logs and job records. A failed query's own message repeats its parameters, so its cause is told instead. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? errorText(error.cause) : error.message;
}
