import { createApp } from "@board/api/app";
import type { Endpoint } from "@board/api/endpoint";
import { handle, type LambdaContext, type LambdaEvent } from "hono/aws-lambda";
import { withHeadersAsSent, withSafePath } from "./faithful.ts";
import { flushing, runtime } from "./runtime.ts";

/** The Lambda handler of a group of operations behind API Gateway. */
export function serve(endpoints: readonly Endpoint[]) {
  const answer = handle(withHeadersAsSent(flushing(createApp(runtime, endpoints))));
  return (event: Extract<LambdaEvent, { rawPath: string }>, context: LambdaContext) => answer(withSafePath(event), context);
}
