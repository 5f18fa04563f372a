import type { Endpoint } from "./endpoint.ts";
import { activity } from "./routes/activity.ts";
import { agentStream } from "./routes/agent-stream.ts";
import { agentRoutes } from "./routes/agent/routes.ts";
import { agents } from "./routes/agents.ts";
import { approvalStream } from "./routes/approval-stream.ts";
import { approvals } from "./routes/approvals.ts";
import { artifacts } from "./routes/artifacts.ts";
import { audit } from "./routes/audit.ts";
import { boardGroups } from "./routes/board-groups.ts";
import { boards } from "./routes/boards.ts";
import { consolePage } from "./routes/console.ts";
import { decisions } from "./routes/decisions.ts";
import { budgets } from "./routes/budgets.ts";
import { changes } from "./routes/changes.ts";
import { changesStream } from "./routes/changes-stream.ts";
import { customFields } from "./routes/custom-fields.ts";
import { boardFollows, taskFollows } from "./routes/follows.ts";
import { gatewaySessions } from "./routes/gateway-sessions.ts";
import { templateSync } from "./routes/template-sync.ts";
import { gateways } from "./routes/gateways.ts";
import { groupMemory } from "./routes/group-memory.ts";
import { health } from "./routes/health.ts";
import { ingest } from "./routes/ingest.ts";
import { jobs } from "./routes/jobs.ts";
import { keys, ownKeys } from "./routes/keys.ts";
import { mcp } from "./routes/mcp.ts";
import { memoryStreams } from "./routes/memory-streams.ts";
import { memory } from "./routes/memory.ts";
import { metrics } from "./routes/metrics.ts";
import { onboarding } from "./routes/onboarding.ts";
import { organizations } from "./routes/organizations.ts";
import { reference } from "./routes/reference.ts";
import { runStepStream } from "./routes/run-step-stream.ts";
import { runs } from "./routes/runs.ts";
import { savedViews } from "./routes/saved-views.ts";
import { skillPacks } from "./routes/skill-packs.ts";
import { skills } from "./routes/skills.ts";
import { slackApp, slackLink, slackRequests } from "./routes/slack.ts";
import { souls } from "./routes/souls.ts";
import { subscriptions } from "./routes/subscriptions.ts";
import { tags } from "./routes/tags.ts";
import { taskCommentFeed } from "./routes/task-comment-feed.ts";
import { taskCommentStream } from "./routes/task-comment-stream.ts";
import { taskComments } from "./routes/task-comments.ts";
import { taskStream } from "./routes/task-stream.ts";
import { tasks } from "./routes/tasks.ts";
import { userChannels } from "./routes/user-channels.ts";
import { userInbox } from "./routes/user-inbox.ts";
import { users } from "./routes/users.ts";
import { webhooks } from "./routes/webhooks.ts";

/**
 * All operations by resource group. Each Lambda function in packages/functions/src/api lists the operations of its group again, so
 * that its bundle contains no others. A test compares those lists with the deployed routes.
 */
export const groups = {
  health,
  reference,
  console: consolePage,
  users: [...users, ...userInbox, ...userChannels, ...slackLink, ...ownKeys],
  keys,
  audit,
  organizations: [...organizations, ...slackApp],
  "custom-fields": customFields,
  tags,
  gateways: [...gateways, ...gatewaySessions],
  templates: templateSync,
  boards: [...boards, ...boardFollows, ...savedViews],
  "board-groups": boardGroups,
  memory: [...memory, ...groupMemory, ...memoryStreams],
  onboarding,
  tasks: [...tasks, ...taskFollows, ...taskComments, ...taskStream],
  runs: [...runs, ...runStepStream],
  artifacts,
  decisions,
  slack: slackRequests,
  approvals: [...approvals, ...approvalStream],
  webhooks,
  subscriptions,
  ingest,
  jobs,
  agents: [...agents, ...agentStream],
  agent: agentRoutes,
  mcp,
  activity: [...activity, ...taskCommentFeed, ...taskCommentStream],
  changes: [...changes, ...changesStream],
  metrics,
  budgets,
  skills: [...skills, ...skillPacks],
  souls,
} satisfies Record<string, Endpoint[]>;

export const endpoints: Endpoint[] = Object.values(groups).flat();
