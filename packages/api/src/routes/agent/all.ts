import { agentBoards } from "./boards.ts";
import { agentMemory } from "./memory.ts";
import { agentOnboarding } from "./onboarding.ts";
import { agentPayloads } from "./payloads.ts";
import { self } from "./self.ts";

/** Everything an agent may call under /api/v1/agent. */
export const agent = [...self, ...agentBoards, ...agentMemory, ...agentOnboarding, ...agentPayloads];
