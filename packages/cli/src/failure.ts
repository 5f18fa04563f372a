import { ApiError } from "@board/client";
import { toSafeText } from "./text.ts";

/** A mistake that the user can correct, such as a missing option. Its message says how. */
export class UsageError extends Error {}

/**
 * Returns a secret that only the first answer to a request contains. Throws if that answer was lost and the client has only a
 * repeated answer, which has no secret.
 */
export function requireSecret(secret: string | null | undefined, remedy: string): string {
  if (secret) return secret;
  throw new Error(`The connection broke before the secret arrived, and the service sends it only once. ${remedy}`);
}

export const EXIT_FAILURE = 1;
/** The service understood the request and refused it: 4xx. */
export const EXIT_REFUSED = 2;

export function exitCodeOf(error: unknown): number {
  const isRefused = error instanceof ApiError && error.status >= 400 && error.status < 500;
  return isRefused ? EXIT_REFUSED : EXIT_FAILURE;
}

/** Returns the parts of an error that are printed, as text or as JSON. */
export function describeError(error: unknown): { message: string; status?: number; code?: string; request_id?: string | null } {
  if (!(error instanceof ApiError)) return { message: toSafeText(error instanceof Error ? error.message : String(error)) };
  const { message, status, code, request_id } = error;
  return { message: toSafeText(message), status, ...(code !== undefined && { code }), request_id };
}
