import * as z from "zod";
import { AGENT_STATUSES } from "../schema/agent.sql.ts";

/** State of an agent. `offline` is stored, and also shown for an agent that has been silent for ten minutes. */
export const AgentStatus = z.enum(AGENT_STATUSES);
export type AgentStatus = z.infer<typeof AgentStatus>;
