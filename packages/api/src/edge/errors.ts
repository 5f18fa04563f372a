import { BodyStorageError } from "@board/core/context/body-storage";
import { isForeignKeyViolation, toDatabaseUnavailable, toTextBudgetError } from "@board/core/db/query-error";
import {
  bodyStorageUnavailable,
  DomainError,
  InvalidInput,
  type ErrorKind,
  notFound,
  secretUnreadable,
} from "@board/core/values/errors";
import type { Log } from "@board/core/values/log";
import { errorText, stackFrames } from "@board/core/values/log";
import { toJson } from "@board/core/values/json";
import { UnreadableSecret } from "@board/core/values/seal";
import { HTTPException } from "hono/http-exception";
import { jsonResponse } from "./representation.ts";

/** The HTTP status of each kind of error (docs/reference/conventions.md#errors). Core does not know HTTP statuses. */
const STATUS: Readonly<Record<ErrorKind, number>> = {
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  gone: 410,
  precondition_failed: 412,
  incomplete_body: 400,
  body_timeout: 408,
  too_large: 413,
  invalid: 422,
  limited: 429,
  unavailable: 502,
  overloaded: 503,
  database_unavailable: 503,
  identity_provider_unavailable: 503,
  body_storage_unavailable: 503,
  secret_unreadable: 503,
};

export function json(value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return jsonResponse(toJson(value), status, headers);
}

/** Converts a thrown error to a response. `toAgent` selects the form of a 403 that agents get. */
export function toErrorResponse(error: unknown, toAgent: boolean, log: Log): Response {
  if (error instanceof InvalidInput) return json({ detail: error.problems }, 422);
  if (error instanceof DomainError) return toDomainErrorResponse(error, toAgent);
  // The parent of the written row was deleted at the same time. A later request would get 404, so this request gets it too.
  if (isForeignKeyViolation(error)) return toDomainErrorResponse(notFound(), toAgent);
  const noRoom = toTextBudgetError(error);
  if (noRoom) return toDomainErrorResponse(noRoom, toAgent);
  const unavailable = toDatabaseUnavailable(error);
  if (unavailable) {
    log.warn("database.unavailable", errorText(error));
    return toDomainErrorResponse(unavailable, toAgent);
  }
  if (error instanceof BodyStorageError) {
    log.warn("webhook.body_unavailable", error.message);
    return toDomainErrorResponse(bodyStorageUnavailable(), toAgent);
  }
  if (error instanceof UnreadableSecret) {
    log.error("secret.unreadable", error.message);
    return toDomainErrorResponse(secretUnreadable(), toAgent);
  }
  if (error instanceof HTTPException && error.status < 500) return json({ detail: "Bad Request" }, error.status);
  // The message of an unexpected error may contain anything, including secrets, so it is only logged.
  log.error("unhandled", errorText(error), { stack: stackFrames(error) });
  return json({ detail: "Internal Server Error" }, 500);
}

function toDomainErrorResponse(error: DomainError, toAgent: boolean): Response {
  const { kind, message, extra } = error;
  const status = STATUS[kind];
  if (kind === "forbidden" && toAgent)
    return json(
      { detail: { code: extra.code ?? "forbidden", message, ...extra.fields }, code: "forbidden", retryable: false },
      status,
    );
  const detail = extra.fields ? { message, ...extra.fields } : message;
  const headers: Record<string, string> = {};
  if (extra.retry_after_seconds !== undefined) headers["Retry-After"] = String(extra.retry_after_seconds);
  if (extra.entity_tag !== undefined) headers["ETag"] = extra.entity_tag;
  if (kind === "unauthenticated") headers["WWW-Authenticate"] = "Bearer";
  return json({ detail }, status, headers);
}
