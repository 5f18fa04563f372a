import { DomainError, type ErrorKind } from "@board/core/values/errors";
import { APIError } from "better-auth/api";

const STATUSES: Partial<Record<ErrorKind, ConstructorParameters<typeof APIError>[0]>> = {
  not_found: "NOT_FOUND",
  conflict: "CONFLICT",
  invalid: "UNPROCESSABLE_ENTITY",
  limited: "TOO_MANY_REQUESTS",
};

/** Runs work inside a callback of the library. Converts a `DomainError` to the library's error, the only one that it can answer. */
export async function asApiCall<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    const { kind, message, extra } = error;
    const { retry_after_seconds } = extra;
    const headers = retry_after_seconds === undefined ? {} : { "Retry-After": String(retry_after_seconds) };
    throw new APIError(STATUSES[kind] ?? "FORBIDDEN", { message }, headers);
  }
}

/**
 * Answers an invalid passkey with 400, because the library answers it with 500, as if the service had failed. Names the wait after
 * too many requests by the standard header, because the library uses a different name.
 */
export function toRefusal(pathname: string, answer: Response): Response {
  if (answer.status === 500 && pathname.endsWith("/passkey/verify-registration"))
    return Response.json({ message: "The passkey is not valid." }, { status: 400 });
  const wait = answer.status === 429 ? answer.headers.get("x-retry-after") : null;
  if (wait === null) return answer;
  const headers = new Headers(answer.headers);
  headers.set("retry-after", wait);
  headers.delete("x-retry-after");
  return new Response(answer.body, { status: answer.status, headers });
}
