import { ingest } from "@board/api/routes/ingest";
import { webhooks } from "@board/api/routes/webhooks";
import { createHttpHandler } from "../http-handler.ts";

/** Includes ingestion, because a post with a trailing slash in its path does not match the route of `ingest`. */
export const handler = createHttpHandler([...webhooks, ...ingest]);
