import { consolePage } from "@board/api/routes/console";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler(consolePage);
