import { mcp } from "@board/api/routes/mcp";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler(mcp);
