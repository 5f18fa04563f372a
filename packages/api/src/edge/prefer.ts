import { Answer } from "./answer.ts";

/** Returns whether the client asked for `Prefer: respond-async` (RFC 7240), alone or in a list. */
export const prefersAsync = (headers: Headers): boolean => /(^|,)\s*respond-async\s*(;|,|$)/i.test(headers.get("prefer") ?? "");

/**
 * Returns whether the client asked for `Prefer: handling=strict`, which makes the service refuse keys that an operation does not
 * know.
 */
export const prefersStrict = (headers: Headers): boolean =>
  /(^|,)\s*handling\s*=\s*"?strict"?\s*(;|,|$)/i.test(headers.get("prefer") ?? "");

/** Creates the 202 answer to a sync that continues after its request. The client follows the run at `collection_path`. */
export function acceptedResponse(run: { run_id: string }, collection_path: string, is_async: boolean): Answer {
  const headers = { Location: `${collection_path}/${run.run_id}` };
  return new Answer(run, 202, is_async ? { ...headers, "Preference-Applied": "respond-async" } : headers);
}
