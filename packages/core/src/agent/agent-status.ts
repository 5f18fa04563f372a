import * as z from "zod";
import { AGENT_STATUSES } from "../schema/agent.sql.ts";

/**
 * The status of an agent. An agent that has been silent for ten minutes is shown as `offline` even before this status is stored.
 */
export const AgentStatus = z.enum(AGENT_STATUSES);
export type AgentStatus = z.infer<typeof AgentStatus>;
