import { createApp } from "@board/api/app";
import type { Endpoint } from "@board/api/endpoint";
import { createBufferedHandler } from "./lambda-http.ts";
import { runtime, withMetricFlush } from "./runtime.ts";

/** Creates the Lambda handler of a group of operations behind API Gateway. */
export function createHttpHandler(endpoints: readonly Endpoint[]) {
  const { fetch } = createApp(runtime, endpoints);
  return createBufferedHandler(withMetricFlush(fetch));
}
