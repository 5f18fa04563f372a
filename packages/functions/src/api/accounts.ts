import { createHttpHandler } from "../http-handler.ts";

/**
 * People sign in here in accounts mode. The list of endpoints is empty, because every app has the sign-in routes in this mode. In
 * other modes these routes answer 404.
 */
export const handler = createHttpHandler([]);
