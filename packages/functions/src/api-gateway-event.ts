import type { App } from "@board/api/runtime";
import type { APIGatewayProxyEventV2 } from "aws-lambda";

/** Characters that must be encoded in the path of a URL: unencoded they would end it, be dropped, or become a slash. */
const UNSAFE_IN_PATH = /[\0- "#<>?\\^`{|}\x7f]|%(?![\da-f]{2})/gi;

/** An empty value, or one with bytes beyond ASCII that are still allowed in a header. */
const isEmptyOrLatin1 = (value: string): boolean => value === "" || (/^[\x20-\xff]*$/.test(value) && /[\x80-\xff]/.test(value));

/**
 * Encodes the path again: API Gateway's HTTP APIs pass it on decoded, but Hono's adapter expects it encoded. An encoded
 * slash cannot be restored, so a client that needs one inside a segment must encode it twice.
 */
export const withEncodedPath = <Event extends { rawPath: string }>(event: Event): Event => ({
  ...event,
  rawPath: event.rawPath.replaceAll(UNSAFE_IN_PATH, encodeURIComponent),
});

/** Restores headers that Hono's adapter drops (empty) or changes (beyond ASCII), because webhooks store them unchanged. */
export const withOriginalHeaders =
  (fetch: App["fetch"]): App["fetch"] =>
  (request, env, ...rest) => {
    const { headers } = (env as { event: APIGatewayProxyEventV2 }).event;
    for (const [name, value] of Object.entries(headers))
      if (value !== undefined && isEmptyOrLatin1(value)) request.headers.set(name, value);
    return fetch(request, env, ...rest);
  };
