import { agentAgents } from "./agents.ts";
import { agentApprovals } from "./approvals.ts";
import { agentBoards } from "./boards.ts";
import { agentCoordination } from "./coordination.ts";
import { agentInbox, agentInstructions } from "./inbox.ts";
import { agentMemory } from "./memory.ts";
import { agentOnboarding } from "./onboarding.ts";
import { agentPayloads } from "./payloads.ts";
import { agentRuns } from "./runs.ts";
import { agentRunToken } from "./run-token.ts";
import { agentSelf } from "./self.ts";
import { agentTags } from "./tags.ts";
import { agentTaskComments } from "./task-comments.ts";
import { agentTaskLeases } from "./task-leases.ts";
import { agentTasks } from "./tasks.ts";
import { agentUsage } from "./usage.ts";

/** All operations under /api/v1/agent. */
export const agentRoutes = [
  ...agentSelf,
  ...agentInbox,
  ...agentInstructions,
  ...agentAgents,
  ...agentBoards,
  ...agentTasks,
  ...agentTaskLeases,
  ...agentRuns,
  ...agentTaskComments,
  ...agentRunToken,
  ...agentUsage,
  ...agentTags,
  ...agentMemory,
  ...agentApprovals,
  ...agentOnboarding,
  ...agentPayloads,
  ...agentCoordination,
];
