import { namesMissingRow } from "@board/core/db/conflict";
import { DomainError, InvalidInput, type Kind, notFound } from "@board/core/errors";
import type { Log } from "@board/core/log";
import { errorText, framesOf } from "@board/core/log";
import { toJson } from "@board/core/json";
import { HTTPException } from "hono/http-exception";

/** The only place that knows statuses and the bodies of errors (contract conventions.md §4). */
const STATUS: Readonly<Record<Kind, number>> = {
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  gone: 410,
  too_large: 413,
  invalid: 422,
  limited: 429,
  unavailable: 502,
};

export function json(value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(toJson(value), { status, headers: { "content-type": "application/json", ...headers } });
}

/** Turns whatever was thrown into its answer. `toAgent` chooses the agents' form of a 403. */
export function toResponse(error: unknown, toAgent: boolean, log: Log): Response {
  if (error instanceof InvalidInput) return json({ detail: error.problems }, 422);
  if (error instanceof DomainError) return fromDomain(error, toAgent);
  // What the write belongs to was removed in this very moment: the caller is told what the next request would be told.
  if (namesMissingRow(error)) return fromDomain(notFound(), toAgent);
  if (error instanceof HTTPException && error.status < 500) return json({ detail: "Bad Request" }, error.status);
  // An unknown error's message may hold anything; it is for the log alone.
  log.error("unhandled", errorText(error), { stack: framesOf(error) });
  return json({ detail: "Internal Server Error" }, 500);
}

function fromDomain(error: DomainError, toAgent: boolean): Response {
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
  if (kind === "unauthenticated") headers["WWW-Authenticate"] = "Bearer";
  return json({ detail }, status, headers);
}
