import type { LimitStatus } from "./request-limits.ts";

/** The kind of error, in the terms of the domain. Only the HTTP layer knows status codes. */
export type ErrorKind =
  | "unauthenticated"
  | "forbidden"
  | "not_found"
  | "conflict"
  | "gone"
  | "precondition_failed"
  | "too_large"
  | "body_timeout"
  | "incomplete_body"
  | "limited"
  | "overloaded"
  | "invalid"
  | "unavailable"
  | "database_unavailable"
  | "identity_provider_unavailable"
  | "body_storage_unavailable"
  | "secret_unreadable";

interface ErrorExtra {
  /** More keys for the detail object of the response, next to `message`, such as missing_task_ids. */
  fields?: Record<string, unknown>;
  /** For a 403 to an agent, the error code to use instead of `forbidden`. */
  code?: string;
  /** Seconds after which a retry may succeed. */
  retry_after_seconds?: number;
  /** The current entity tag of a resource that has changed. */
  entity_tag?: string;
  /** True if the caller lacks rights. Such a request is refused even if an answer is already stored under its idempotency key. */
  is_access?: true;
  /** The limit that refused the request, if the context does not contain it. */
  limit?: LimitStatus;
}

/** An error to report to the client. The response contains its message unchanged. */
export class DomainError extends Error {
  readonly kind: ErrorKind;
  readonly extra: ErrorExtra;
  constructor(kind: ErrorKind, message: string, extra: ErrorExtra = {}) {
    super(message);
    this.name = "DomainError";
    this.kind = kind;
    this.extra = extra;
  }
}

/**
 * A system outside the service failed or refused a request, so the service has no bug. If a job throws this, the job is retried
 * by the policy of its kind. Any other error of a job counts as a bug.
 */
export class ExpectedFailure extends Error {
  /** How many milliseconds the failing system asked to wait before a retry; null if it did not ask. */
  get retry_after_ms(): number | null {
    return null;
  }

  /** True if a retry may succeed. */
  get is_transient(): boolean {
    return false;
  }

  /** True if the work conflicted with a concurrent change of the same object, so that a retry may succeed. */
  get is_conflict(): boolean {
    return false;
  }

  /** True if the other system refuses all requests of this service until its operator approves the service. */
  get is_refusal(): boolean {
    return false;
  }

  /** True if the system could not be reached, so that it may not have received the request. */
  get is_unreachable(): boolean {
    return false;
  }

  /** True if the work only waited for other work to finish first. It has not failed, so a job's attempt does not count. */
  get is_waiting(): boolean {
    return false;
  }
}

export interface FieldProblem {
  type: string;
  loc: (string | number)[];
  msg: string;
  input: unknown;
}

/** The input does not match its schema. Each problem is listed once (docs/reference/conventions.md#field-problems). */
export class InvalidInput extends Error {
  readonly problems: FieldProblem[];
  constructor(problems: FieldProblem[]) {
    super("Invalid input");
    this.name = "InvalidInput";
    this.problems = problems;
  }
}

/** Returns an error that callers may see. Throws any other error. */
export function requireDomainError(error: unknown): DomainError {
  if (error instanceof DomainError) return error;
  throw error;
}

export const notFound = () => new DomainError("not_found", "Not Found");
export const unauthenticated = () => new DomainError("unauthenticated", "Not authenticated");
/** Creates the error for a resource that the caller may not see. It reads as if the resource did not exist. */
export const notVisible = () => new DomainError("not_found", "Not Found", { is_access: true });
export const boardAccessDenied = () => new DomainError("forbidden", "Board access denied", { is_access: true });

/**
 * The wait before a retry, in seconds. After a failure, the keys are read again after one second, so a retry after five seconds
 * succeeds if the provider works again.
 */
const KEYS_RETRY_AFTER = 5;
/** Creates the error for a token that cannot be checked, because the keys of the identity provider cannot be read. */
export const identityProviderUnavailable = () =>
  new DomainError(
    "identity_provider_unavailable",
    "The identity provider cannot be reached, so the token was not checked. Try again later.",
    { retry_after_seconds: KEYS_RETRY_AFTER },
  );

/** How many seconds a client waits before a retry. The time is long, because an operator has to act first. */
const SECRET_RETRY_AFTER = 300;
/** Creates the error for work that needs a secret which was encrypted with another key of the service. */
export const secretUnreadable = () =>
  new DomainError(
    "secret_unreadable",
    "A secret that this needs was encrypted with another ENCRYPTION_KEY. Enter the secret again, or ask the operator to restore the key.",
    { retry_after_seconds: SECRET_RETRY_AFTER },
  );

/** The wait before a retry, in seconds. Storage services are rarely unavailable for longer. */
const BODY_RETRY_AFTER = 30;
/** Creates the error for a payload whose body cannot be read from the body storage at the moment. */
export const bodyStorageUnavailable = () =>
  new DomainError("body_storage_unavailable", "The payload cannot be read from its storage. Try again later.", {
    retry_after_seconds: BODY_RETRY_AFTER,
  });
