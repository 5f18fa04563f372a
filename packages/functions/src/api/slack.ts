import { slackRequests } from "@board/api/routes/slack";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler(slackRequests);
