import { createApp } from "@board/api/app";
import type { Endpoint } from "@board/api/endpoint";
import { handle } from "hono/aws-lambda";
import { runtime } from "./runtime.ts";

/** The Lambda handler of a group of operations behind API Gateway. */
export const serve = (endpoints: readonly Endpoint[]) => handle(createApp(runtime, endpoints));
