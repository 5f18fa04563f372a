import { createApp } from "@board/api/app";
import { streamRoutes } from "@board/api/stream/stream-routes";
import { StreamEnvironment } from "./environment.ts";
import { createStreamingHandler } from "./lambda-http.ts";
import { createStreamingRuntime, withMetricFlush } from "./runtime.ts";

const { STREAM_MAX_SECONDS } = StreamEnvironment.parse(process.env);
const { fetch } = createApp(createStreamingRuntime(STREAM_MAX_SECONDS), streamRoutes);

/** The Lambda handler of all streams, behind a function URL. */
export const handler = createStreamingHandler(withMetricFlush(fetch));
