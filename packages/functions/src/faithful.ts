import type { createApp } from "@board/api/app";
import type { APIGatewayProxyEventV2 } from "aws-lambda";

/** What no path of a URL can hold as it is: it would end the path there, be left out of it, or become a slash. */
const UNSAFE = /[\0- "#<>?\\^`{|}\x7f]|%(?![\da-f]{2})/gi;

/** No value, or one that is not ASCII and can stand in a header all the same. */
const LATIN1 = /^(?:[\x20-\xff]*[\x80-\xff][\x20-\xff]*)?$/;

/**
 * API Gateway's HTTP APIs decode a path before they pass it on, and Hono's adapter takes it for one that is still encoded.
 * A slash that was encoded is lost for good; a client that needs one in a segment encodes it twice.
 */
export const withSafePath = <Event extends { rawPath: string }>(event: Event): Event => ({
  ...event,
  rawPath: event.rawPath.replaceAll(UNSAFE, encodeURIComponent),
});

/** Hono's adapter leaves out headers without a value and rewrites those beyond ASCII; a webhook keeps both as they came. */
export function withHeadersAsSent<App extends ReturnType<typeof createApp>>(app: App): App {
  const { fetch } = app;
  app.fetch = (request, env, ...rest) => {
    const { headers } = (env as { event: APIGatewayProxyEventV2 }).event;
    for (const [name, value] of Object.entries(headers))
      if (value !== undefined && LATIN1.test(value)) request.headers.set(name, value);
    return fetch(request, env, ...rest);
  };
  return app;
}
