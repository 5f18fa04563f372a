/** What went wrong, in the domain's words; only the HTTP layer knows statuses. */
export type Kind =
  | "unauthenticated"
  | "forbidden"
  | "not_found"
  | "conflict"
  | "gone"
  | "too_large"
  | "limited"
  | "invalid"
  | "unavailable";

export interface ErrorExtra {
  /** Keys beside `message` in the answer's detail object, such as missing_task_ids. */
  fields?: Record<string, unknown>;
  /** Replaces `forbidden` as the code of an agent's 403. */
  code?: string;
  /** Seconds until a repeat may succeed. */
  retry_after_seconds?: number;
}

/** An answer the caller must get: thrown by the domain, told as it stands. */
export class DomainError extends Error {
  readonly kind: Kind;
  readonly extra: ErrorExtra;
  constructor(kind: Kind, message: string, extra: ErrorExtra = {}) {
    super(message);
    this.name = "DomainError";
    this.kind = kind;
    this.extra = extra;
  }
}

/**
 * Something outside of the service failed, or refused: nothing of ours to mend. A job that ends with one is tried again as
 * the policy of its kind says; any other error of a job is a bug.
 */
export class ExpectedFailure extends Error {
  /** How long whoever failed asks to be left alone, in milliseconds; null when it did not say. */
  get retry_after_ms(): number | null {
    return null;
  }
}

export interface FieldProblem {
  type: string;
  loc: (string | number)[];
  msg: string;
  input: unknown;
}

/** Input that does not fit its schema, with every problem listed once (contract conventions.md §4). */
export class InvalidInput extends Error {
  readonly problems: FieldProblem[];
  constructor(problems: FieldProblem[]) {
    super("Invalid input");
    this.name = "InvalidInput";
    this.problems = problems;
  }
}

export const notFound = () => new DomainError("not_found", "Not Found");
export const unauthenticated = () => new DomainError("unauthenticated", "Not authenticated");
export const boardDenied = () => new DomainError("forbidden", "Board access denied");
