import { createHttpHandler } from "../http-handler.ts";

/** People sign in here in accounts mode. Every app has these routes in this mode; in the other modes they answer 404. */
export const handler = createHttpHandler([]);
