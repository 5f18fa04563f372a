import * as z from "zod";
import { AGENT_STATUSES } from "../schema/agent.sql.ts";

/** State of an agent. An agent that has been silent for ten minutes shows as `offline` even before that is stored. */
export const AgentStatus = z.enum(AGENT_STATUSES);
export type AgentStatus = z.infer<typeof AgentStatus>;
