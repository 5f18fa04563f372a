import { organizations } from "@board/api/routes/organizations";
import { slackApp } from "@board/api/routes/slack";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler([...organizations, ...slackApp]);
