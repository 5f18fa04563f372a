/** Thrown for every response with an error status. */
export class ApiError extends Error {
  readonly status: number;
  /** The reason from the response: text, an object with a message, or a list of invalid fields. */
  readonly detail: unknown;
  /** Machine-readable code such as `task_already_claimed`, for rules that have one. */
  readonly code: string | undefined;
  /** Id of the request in the service's log. */
  readonly request_id: string | null;
  /** Seconds after which the request may be repeated, if the service gives them. */
  readonly retry_after_seconds: number | undefined;

  /** `body` is the body of the response: parsed JSON, or text. */
  constructor({ status, statusText, headers }: Response, body: unknown) {
    const detail = property(body, "detail") ?? body;
    super(toText(detail) || statusText || `Status ${status}`);
    this.name = "ApiError";
    this.status = status;
    this.detail = detail;
    const code = property(detail, "code");
    this.code = typeof code === "string" ? code : undefined;
    this.request_id = headers.get("X-Request-Id");
    const seconds = headers.get("Retry-After");
    this.retry_after_seconds = seconds === null ? undefined : Number(seconds);
  }
}

const property = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;

/** Returns the reason in one line. */
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
