import { createApp } from "@board/api/app";
import { isStream } from "@board/api/endpoint";
import { endpoints } from "@board/api/groups";
import { streamHandle } from "hono/aws-lambda";
import * as z from "zod";
import { stream } from "./manifest.ts";
import { streaming } from "./runtime.ts";

/** Lambda ends a function after 15 minutes, whatever it is about to say. */
const LONGEST_SECONDS = stream.timeout_seconds - 30;

const { STREAM_MAX_SECONDS } = z
  .object({
    STREAM_MAX_SECONDS: z.coerce
      .number()
      .int()
      .min(1)
      .max(LONGEST_SECONDS)
      .default(stream.max_seconds)
      .describe("How long a stream lives; its client then goes on in a new one."),
  })
  .parse(process.env);

/** The Lambda handler of all streams behind a function URL. */
export const handler = streamHandle(createApp(streaming(STREAM_MAX_SECONDS), endpoints.filter(isStream)));
