/** Thrown for every answer that is none of the good ones: the service refused, and says why. */
export class ApiError extends Error {
  readonly status: number;
  /** The reason as the service gave it: a text, an object with a message, or a list of the fields that do not fit. */
  readonly detail: unknown;
  /** A word for programs, such as `task_assignee_mismatch`, where the broken rule has one. */
  readonly code: string | undefined;
  /** Names the request in the service's log. */
  readonly request_id: string | null;
  /** After how many seconds a repeat may succeed, where the service says so. */
  readonly retry_after_seconds: number | undefined;

  /** `body` is the answer's: JSON already read, or the text that it is instead. */
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

/** The reason in one line. */
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
