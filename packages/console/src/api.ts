import { createClient } from "@board/client/client";
import { ApiError, ConnectionError } from "@board/client/error";
import { computed, signal } from "@preact/signals";
import { removeDrafts } from "./draft.ts";

/** The key in the browser's local storage under which the token is stored. */
const STORAGE_KEY = "board.token";

const storage = () => globalThis.localStorage;

/** Used instead of a token when the browser has a session cookie, which no page can read. */
export const SESSION = "session";
/** The token of the person who is signed in. */
export const token = signal<string | null>(storage().getItem(STORAGE_KEY));
/** Set when the service refused the token. The page stays open, and requests wait until there is a new token. */
export const refused = signal(false);
/** Whether the last request reached the service. */
export const reachable = signal(true);
export const signedIn = computed(() => token.value !== null);

let resume: (() => void) | undefined;
let signingIn: Promise<void> | undefined;
/** How often somebody has signed in. Tokens cannot tell this, because every session has the same one. */
let signIns = 0;

/** Uses another token from now on, also for requests that wait for a token. */
export function useToken(value: string): void {
  storage().setItem(STORAGE_KEY, value);
  token.value = value;
  signIns++;
  refused.value = false;
  resume?.();
  signingIn = resume = undefined;
}

export function signOut(): void {
  const ends = token.value === SESSION ? fetch("/api/auth/sign-out", JSON_POST) : Promise.resolve();
  storage().removeItem(STORAGE_KEY);
  removeDrafts();
  void ends.finally(() => location.reload());
}

// The cookie is gone for all tabs when a person signs out in one of them.
addEventListener("storage", ({ key, newValue }) => {
  if (key !== STORAGE_KEY || newValue !== null || token.value === null) return;
  removeDrafts();
  location.reload();
});

const JSON_POST = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };

/**
 * Sends a request with the current token. After a 401 it waits until the person has signed in again, so that no change is lost.
 */
async function send(request: Request): Promise<Response> {
  for (;;) {
    const used = token.value;
    const before = signIns;
    const attempt = request.clone();
    if (used !== null && used !== SESSION) attempt.headers.set("Authorization", `Bearer ${used}`);
    const response = await fetchOnce(attempt);
    if (response.status !== 401) return response;
    if (signIns === before) {
      refused.value = true;
      signingIn ??= new Promise((resolve) => (resume = resolve));
    }
    await signingIn;
  }
}

async function fetchOnce(request: Request): Promise<Response> {
  try {
    const response = await fetch(request);
    // A proxy answers with these statuses when it cannot reach the service.
    reachable.value = response.status !== 502 && response.status !== 504;
    return response;
  } catch (error) {
    if (!request.signal.aborted) reachable.value = false;
    throw error;
  }
}

/** The typed client of the API. */
export const api = createClient({ url: location.origin, fetch: send });

/** Whether the service accepts a token. Throws if this cannot be determined. */
export async function isAccepted(candidate: string): Promise<boolean> {
  try {
    await createClient({ url: location.origin, token: candidate, fetch: fetchOnce }).get("/api/v1/users/me");
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return false;
    throw error;
  }
}

/** Returns the reason for a failure in the words of the API. */
export function messageOf(error: unknown): string {
  if (error instanceof ApiError) {
    if (error.status === 429 && error.retry_after_seconds) return `${error.message} Try again in ${error.retry_after_seconds} s.`;
    return error.message;
  }
  if (error instanceof ConnectionError || error instanceof TypeError)
    return "The service does not answer. Try again when it runs.";
  return error instanceof Error ? error.message : String(error);
}

export const isStatus = (error: unknown, status: number): boolean => error instanceof ApiError && error.status === status;
