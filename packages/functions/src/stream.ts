import { createApp } from "@board/api/app";
import { isStream } from "@board/api/endpoint";
import { endpoints } from "@board/api/groups";
import type { App } from "@board/api/runtime";
import { streamHandle } from "hono/aws-lambda";
import { StreamEnvironment } from "./environment.ts";
import { createStreamingRuntime, withMetricFlush } from "./runtime.ts";

const { STREAM_MAX_SECONDS } = StreamEnvironment.parse(process.env);
const { fetch } = createApp(createStreamingRuntime(STREAM_MAX_SECONDS), endpoints.filter(isStream));

/** The Lambda handler of all streams, behind a function URL. The adapter calls nothing but `fetch`. */
export const handler = streamHandle({ fetch: withMetricFlush(fetch) } as App);
