import { agentRoutes } from "@board/api/routes/agent/routes";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler(agentRoutes);
