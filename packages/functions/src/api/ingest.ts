import { ingest } from "@board/api/routes/ingest";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler(ingest);
