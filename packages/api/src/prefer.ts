import { json } from "./errors.ts";

/** Whether the client asked for `Prefer: respond-async` (RFC 7240), alone or in a list. */
export const prefersAsync = (headers: Headers): boolean => /(^|,)\s*respond-async\s*(;|,|$)/i.test(headers.get("prefer") ?? "");

/** The 202 response to a sync that continues after its request. The client follows the run at `collection_path`. */
export function acceptedResponse(run: { run_id: string }, collection_path: string, is_async: boolean): Response {
  const headers = { Location: `${collection_path}/${run.run_id}` };
  return json(run, 202, is_async ? { ...headers, "Preference-Applied": "respond-async" } : headers);
}
