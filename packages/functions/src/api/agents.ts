import { agentStream } from "@board/api/routes/agent-stream";
import { agents } from "@board/api/routes/agents";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler([...agents, ...agentStream]);
