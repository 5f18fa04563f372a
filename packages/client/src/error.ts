/** Thrown for every response with an error status. */
export class ApiError extends Error {
  readonly status: number;
  /** The reason from the response: text, an object with a message, or a list of invalid fields. */
  readonly detail: unknown;
  /** Machine-readable code such as `task_already_claimed`, for rules that have one. */
  readonly code: string | undefined;
  /** Id of the request. The service's log contains it. */
  readonly request_id: string | null;
  /** Seconds after which the request may be repeated, if the service sends a value. */
  readonly retry_after_seconds: number | undefined;

  /** `body` is the body of the response, as parsed JSON or as text. */
  constructor({ status, statusText, headers }: Response, body: unknown) {
    const detail = property(body, "detail") ?? body;
    super(toText(detail) || statusText || `Status ${status}`);
    this.name = "ApiError";
    this.status = status;
    this.detail = detail;
    const code = property(detail, "code") ?? property(body, "code");
    this.code = typeof code === "string" ? code : undefined;
    this.request_id = headers.get("X-Request-Id");
    this.retry_after_seconds = parseRetryAfter(headers.get("Retry-After"));
  }
}

/** Thrown when no complete response arrived, because the service cannot be reached or the connection broke. `cause` says why. */
export class ConnectionError extends Error {
  constructor(url: string, cause: unknown) {
    super(`No answer from ${new URL(url).origin}: ${rootMessage(cause)}`, { cause });
    this.name = "ConnectionError";
  }
}

/** Returns the seconds of a Retry-After header, which contains a number or a date. */
function parseRetryAfter(text: string | null): number | undefined {
  if (text === null || text.trim() === "") return undefined;
  const seconds = Number(text);
  if (Number.isFinite(seconds)) return Math.max(0, seconds);
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : Math.max(0, Math.ceil((time - Date.now()) / 1000));
}

/** Returns the message of the innermost cause, because Node's fetch only says "fetch failed". */
function rootMessage(error: unknown): string {
  const cause = property(error, "cause");
  if (cause !== undefined) return rootMessage(cause);
  const text = property(error, "message");
  const code = property(error, "code");
  return (typeof text === "string" && text) || (typeof code === "string" && code) || String(error);
}

const property = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;

/** Formats the reason as one line. */
function toText(detail: unknown): string {
  if (typeof detail === "string") return detail;
  if (Array.isArray(detail)) return detail.map(toProblem).join("; ");
  const message = property(detail, "message");
  return typeof message === "string" ? message : "";
}

function toProblem(problem: unknown): string {
  const where = property(problem, "loc");
  return `${Array.isArray(where) ? where.join(".") : "input"}: ${String(property(problem, "msg"))}`;
}
