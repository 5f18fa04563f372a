import { agentAgents } from "./agents.ts";
import { agentApprovals } from "./approvals.ts";
import { agentBoards } from "./boards.ts";
import { agentCoordination } from "./coordination.ts";
import { agentMemory } from "./memory.ts";
import { agentOnboarding } from "./onboarding.ts";
import { agentPayloads } from "./payloads.ts";
import { self } from "./self.ts";
import { agentTags } from "./tags.ts";
import { agentTaskComments } from "./task-comments.ts";
import { agentTasks } from "./tasks.ts";

/** Everything an agent may call under /api/v1/agent. */
export const agent = [
  ...self,
  ...agentAgents,
  ...agentBoards,
  ...agentTasks,
  ...agentTaskComments,
  ...agentTags,
  ...agentMemory,
  ...agentApprovals,
  ...agentOnboarding,
  ...agentPayloads,
  ...agentCoordination,
];
