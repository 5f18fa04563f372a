import { createApp } from "@board/api/app";
import { isStream } from "@board/api/endpoint";
import { endpoints } from "@board/api/groups";
import { streamHandle } from "hono/aws-lambda";
import { StreamEdge } from "./environment.ts";
import { flushing, streaming } from "./runtime.ts";

const { STREAM_MAX_SECONDS } = StreamEdge.parse(process.env);

/** The Lambda handler of all streams behind a function URL. */
export const handler = streamHandle(flushing(createApp(streaming(STREAM_MAX_SECONDS), endpoints.filter(isStream))));
