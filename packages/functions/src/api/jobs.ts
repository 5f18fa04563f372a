import { jobs } from "@board/api/routes/jobs";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler(jobs);
