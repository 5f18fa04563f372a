import { subscriptions } from "@board/api/routes/subscriptions";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler(subscriptions);
