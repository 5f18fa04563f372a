import { metrics } from "@board/api/routes/metrics";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler(metrics);
