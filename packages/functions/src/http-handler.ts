import { createApp } from "@board/api/app";
import type { Endpoint } from "@board/api/endpoint";
import type { App } from "@board/api/runtime";
import { handle, type LambdaContext, type LambdaEvent } from "hono/aws-lambda";
import { withEncodedPath, withOriginalHeaders } from "./api-gateway-event.ts";
import { runtime, withMetricFlush } from "./runtime.ts";

/** Creates the Lambda handler of a group of operations behind API Gateway. */
export function createHttpHandler(endpoints: readonly Endpoint[]) {
  const { fetch } = createApp(runtime, endpoints);
  // The adapter calls nothing but `fetch`.
  const handleEvent = handle({ fetch: withOriginalHeaders(withMetricFlush(fetch)) } as App);
  return (event: Extract<LambdaEvent, { rawPath: string }>, context: LambdaContext) =>
    handleEvent(withEncodedPath(event), context);
}
