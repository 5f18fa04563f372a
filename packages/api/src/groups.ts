import type { Endpoint } from "./endpoint.ts";
import { agent } from "./routes/agent/all.ts";
import { agents } from "./routes/agents.ts";
import { approvals } from "./routes/approvals.ts";
import { boardGroups } from "./routes/board-groups.ts";
import { boards } from "./routes/boards.ts";
import { customFields } from "./routes/custom-fields.ts";
import { gatewaySessions } from "./routes/gateway-sessions.ts";
import { gatewaySync } from "./routes/gateway-sync.ts";
import { gateways } from "./routes/gateways.ts";
import { groupMemory } from "./routes/group-memory.ts";
import { health } from "./routes/health.ts";
import { ingest } from "./routes/ingest.ts";
import { memory } from "./routes/memory.ts";
import { onboarding } from "./routes/onboarding.ts";
import { organizations } from "./routes/organizations.ts";
import { reference } from "./routes/reference.ts";
import { tags } from "./routes/tags.ts";
import { taskComments } from "./routes/task-comments.ts";
import { tasks } from "./routes/tasks.ts";
import { users } from "./routes/users.ts";
import { webhooks } from "./routes/webhooks.ts";

/** Every resource group and its operations: the one list of what the service answers. */
export const groups = {
  health,
  reference,
  users,
  organizations,
  "custom-fields": customFields,
  tags,
  gateways: [...gateways, ...gatewaySessions],
  templates: gatewaySync,
  boards,
  "board-groups": boardGroups,
  memory: [...memory, ...groupMemory],
  onboarding,
  tasks: [...tasks, ...taskComments],
  approvals,
  webhooks,
  ingest,
  agents,
  agent,
} satisfies Record<string, Endpoint[]>;

export const endpoints: Endpoint[] = Object.values(groups).flat();
