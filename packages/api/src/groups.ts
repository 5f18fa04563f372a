import type { Endpoint } from "./endpoint.ts";
import { activity } from "./routes/activity.ts";
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
import { metrics } from "./routes/metrics.ts";
import { onboarding } from "./routes/onboarding.ts";
import { organizations } from "./routes/organizations.ts";
import { reference } from "./routes/reference.ts";
import { skillPacks } from "./routes/skill-packs.ts";
import { skills } from "./routes/skills.ts";
import { souls } from "./routes/souls.ts";
import { tags } from "./routes/tags.ts";
import { taskCommentFeed } from "./routes/task-comment-feed.ts";
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
  activity: [...activity, ...taskCommentFeed],
  metrics,
  skills: [...skills, ...skillPacks],
  souls,
} satisfies Record<string, Endpoint[]>;

export const endpoints: Endpoint[] = Object.values(groups).flat();
