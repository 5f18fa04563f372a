import type { Caller } from "./callers.ts";
import {
  boardQuery,
  foreignReference,
  foreignReferences,
  forAgents,
  onGateway,
  pathReference,
  queryReference,
  readable,
  type Reference,
  type Rows,
} from "./reference.ts";
import { REPOSITORY } from "./seed-tenant.ts";
import { reportedUsage, usageMetrics } from "./usage-references.ts";

/** Returns references of a task to rows that do not belong to its board, which must be refused. */
const taskReferences = (fields: object, refused: (status: number) => Reference["answers"]): Reference[] => [
  ...foreignReferences("dependency", refused(404), ({ task_id }) => ({ ...fields, depends_on_task_ids: [task_id] })),
  foreignReference("tag", "theirs", refused(404), ({ tag_id }) => ({ ...fields, tag_ids: [tag_id] })),
  foreignReference("assignee", "theirs", refused(404), ({ agent_id }) => ({ ...fields, assigned_agent_id: agent_id })),
  foreignReference("assignee", "elsewhere", refused(409), ({ agent_id }) => ({ ...fields, assigned_agent_id: agent_id })),
  ...foreignReferences("field", 422, ({ field_key }) => ({ ...fields, custom_field_values: { [field_key!]: "x" } })),
];
const newTask = taskReferences({ title: "New" }, (status) => status);
/** Among agents, only leads may name these rows. */
const changedTask = [
  ...taskReferences(
    {},
    (status) =>
      ({ is, agent }) =>
        is === "agent" && agent !== "lead" ? 403 : status,
  ),
  pathReference("done without an approval", ({ known }) => ({ task_id: known.tangled_task_id! }), 409, {
    body: () => ({ status: "done" }),
  }),
  pathReference("back from review", ({ known }) => ({ task_id: known.tangled_task_id! }), 200, {
    body: () => ({ status: "inbox" }),
  }),
];

const newApproval: Reference[] = [
  ...foreignReferences("task", 404, ({ task_id }) => ({ action_type: "Do", description: "Ready", task_ids: [task_id] })),
  ...foreignReferences("agent", forAgents(200, 404), ({ agent_id }) => ({ action_type: "Do", description: "Ready", agent_id })),
];
/** A filter only narrows what the caller may see. */
const filterByTask = (name: "task_id" | "waiting_task_id") =>
  (["theirs", "elsewhere", "known"] as const).map((of) => queryReference("task", of, 200, (ids) => `?task_id=${ids[name]}`));
const webhookAgent = foreignReferences("agent", 422, ({ agent_id }) => ({ description: "New", agent_id }));
const readsAllBoards = ({ home, reads }: Caller) => (home && reads.length === 3 ? 200 : 404);
/** Expects that only admins put a board into a group with boards of which they may read none. */
const joinsGroup = ({ role, visitor }: Caller) => (role === "member" || visitor ? 422 : 200);
const atHome = ({ home }: Caller) => (home ? 200 : 404);
const hostQuery: Reference[] = [
  queryReference("gateway", "theirs", 404, ({ gateway_id }) => `?gateway_id=${gateway_id}`),
  queryReference("gateway", "known", atHome, ({ gateway_id }) => `?gateway_id=${gateway_id}`),
];

const boardOfChanges: Reference[] = [
  queryReference("board", "theirs", 404, ({ board_id }) => `?cursor=&board_id=${board_id}`),
  queryReference(
    "board",
    "elsewhere",
    (caller) => (caller.is === "user" ? readable("elsewhere")(caller) : caller.agent === "main" ? 200 : 403),
    ({ board_id }) => `?cursor=&board_id=${board_id}`,
  ),
  queryReference(
    "board",
    "known",
    (caller) => (caller.is === "user" ? readable("home")(caller) : 200),
    ({ board_id }) => `?cursor=&board_id=${board_id}`,
  ),
  queryReference("removed board", "theirs", 404, ({ removed_board_id }) => `?cursor=&board_id=${removed_board_id}`),
  queryReference("removed board", "known", readsAllBoards, ({ removed_board_id }) => `?cursor=&board_id=${removed_board_id}`),
];

/** The rows that a request may name outside its path, by method and canonical path. */
export const REFERENCES: Record<string, Reference[]> = {
  "POST /organizations": [{ about: "another's name", body: () => ({ name: "Strangers" }), answers: 200 }],
  "PATCH /organizations/me": [{ about: "another's name", body: () => ({ name: "Strangers" }), answers: 200 }],
  "PATCH /organizations/me/active": [
    foreignReference("organization", "theirs", 404, ({ organization_id }) => ({ organization_id })),
  ],
  "PUT /organizations/me/members/{member_id}/access": [
    foreignReference("board", "theirs", 422, ({ board_id }) => ({ board_access: [{ board_id }] })),
  ],
  "POST /organizations/me/invites": [
    foreignReference("board", "theirs", 422, ({ board_id }) => ({
      invited_email: "new@example.com",
      board_access: [{ board_id }],
    })),
    { about: "a member of another organization", body: () => ({ invited_email: "guest-theirs@example.com" }), answers: 200 },
    {
      about: "somebody whom another organization has invited",
      body: () => ({ invited_email: "theirs@example.com" }),
      answers: 200,
    },
  ],
  /** The field is deleted although a board that no longer has the field still stores values. */
  "DELETE /organizations/me/custom-fields/{field_id}": [
    pathReference("a field with values", ({ known }) => ({ field_id: known.used_field_id! }), 409),
    pathReference("a field with values on a board that lost it", ({ known }) => ({ field_id: known.moved_field_id! }), 200),
  ],
  "DELETE /api/v1/gateways/{gateway_id}": [
    pathReference("a gateway without boards", ({ known }) => ({ gateway_id: known.spare_gateway_id! }), 200),
  ],
  "POST /organizations/me/custom-fields": [
    foreignReference("board", "theirs", 422, ({ board_id }) => ({ field_key: "new", board_ids: [board_id] })),
  ],
  "PATCH /organizations/me/custom-fields/{field_id}": [
    foreignReference("board", "theirs", 422, ({ board_id }) => ({ board_ids: [board_id] })),
  ],
  "POST /api/v1/boards": [
    foreignReference("gateway", "theirs", 422, ({ gateway_id }) => ({ name: "New", description: "New", gateway_id })),
    foreignReference("group", "theirs", 422, ({ group_id }, { known }) => ({
      name: "New",
      description: "New",
      gateway_id: known.gateway_id,
      board_group_id: group_id,
    })),
    {
      about: "another's name",
      body: ({ known }) => ({ name: "stranger board", description: "New", gateway_id: known.gateway_id }),
      answers: 200,
    },
  ],
  "GET /api/v1/boards": [
    ...hostQuery.map((reference) => ({ ...reference, answers: 200 })),
    queryReference("group", "theirs", 200, ({ group_id }) => `?board_group_id=${group_id}`),
    queryReference("group", "known", 200, ({ group_id }) => `?board_group_id=${group_id}`),
  ],
  "PATCH /api/v1/boards/{board_id}": [
    foreignReference("gateway", "theirs", 422, ({ gateway_id }) => ({ gateway_id })),
    foreignReference("group", "theirs", 422, ({ group_id }) => ({ board_group_id: group_id })),
    foreignReference("group", "elsewhere", joinsGroup, ({ group_id }) => ({ board_group_id: group_id })),
    { about: "another's slug", body: () => ({ slug: "stranger-board" }), answers: 200 },
  ],
  "POST /api/v1/board-groups": [{ about: "another's name", body: () => ({ name: "Group theirs" }), answers: 200 }],
  "POST /api/v1/tasks": newTask.map(({ body, ...reference }) => ({
    ...reference,
    body: (rows) => ({ board_id: rows.known.board_id, ...body!(rows) }),
  })),
  "POST /api/v1/boards/{board_id}/tasks": newTask,
  "POST /api/v1/agent/boards/{board_id}/tasks": newTask,
  "PATCH /api/v1/boards/{board_id}/tasks/{task_id}": changedTask,
  "PATCH /api/v1/agent/boards/{board_id}/tasks/{task_id}": changedTask,
  "GET /api/v1/boards/{board_id}/tasks": [
    queryReference("assignee", "theirs", 200, ({ agent_id }) => `?assigned_agent_id=${agent_id}`),
    queryReference("assignee", "known", 200, ({ agent_id }) => `?assigned_agent_id=${agent_id}`),
    queryReference("lead", "known", 200, ({ lead_id }) => `?assigned_agent_id=${lead_id}`),
    queryReference("open work of the lead", "known", 200, ({ lead_id }) => `?assigned_agent_id=${lead_id}&status=inbox,blocked`),
  ],
  "POST /api/v1/agent/tasks/next": [
    { about: "no board", body: () => ({}), answers: 200 },
    { about: "a tag", body: () => ({ tags: ["tag-proprietary"] }), answers: 200 },
    { about: "a tag, while it works on a task", body: () => ({ tags: ["tag-proprietary"], parallel: true }), answers: 200 },
    foreignReference("board", "theirs", 404, ({ board_id }) => ({ board_id })),
  ],
  "GET /api/v1/agent/boards/{board_id}/tasks/{task_id}": [
    pathReference("a task with rows of another board", ({ known }) => ({ task_id: known.tangled_task_id! }), 200),
  ],
  "POST /api/v1/users/me/inbox/read": [
    foreignReference("notification", "theirs", 200, ({ notification_id }) => ({ ids: [notification_id] })),
  ],
  "POST /api/v1/agent/inbox/ack": ["message_id", "lead_message_id", "mismatched_message_id"].flatMap((name) => [
    { about: `${name} in a list`, body: ({ known }: Rows) => ({ ids: [known[name]] }), answers: 200 },
    { about: `all through ${name}`, body: ({ known }: Rows) => ({ through: known[name] }), answers: 200 },
  ]),
  "POST /api/v1/boards/{board_id}/webhooks/{webhook_id}": [
    pathReference(
      "a board without a host",
      ({ known }) => ({ board_id: known.remote_board_id!, webhook_id: known.remote_webhook_id! }),
      202,
    ),
  ],
  "DELETE /api/v1/agent/boards/{board_id}/tasks/{task_id}/lease": [
    pathReference(
      "a task in work",
      ({ known }) => ({ task_id: known.doing_task_id! }),
      ({ name }) => (name === "worker" ? 200 : 409),
    ),
  ],
  "POST /api/v1/agent/boards/{board_id}/tasks/{task_id}/comments": [
    pathReference("a task in work", ({ known }) => ({ task_id: known.doing_task_id! }), 200),
  ],
  "GET /api/v1/boards/{board_id}/approvals": filterByTask("waiting_task_id"),
  "GET /api/v1/agent/boards/{board_id}/approvals": filterByTask("waiting_task_id"),
  "POST /api/v1/boards/{board_id}/approvals": newApproval,
  "POST /api/v1/agent/boards/{board_id}/approvals": newApproval,
  "POST /api/v1/boards/{board_id}/webhooks": webhookAgent,
  "PATCH /api/v1/boards/{board_id}/webhooks/{webhook_id}": webhookAgent,
  /** Filters only narrow what the caller may see, so a filter by a foreign row finds nothing. */
  "GET /api/v1/jobs": (["theirs", "known"] as const).flatMap((of) => [
    queryReference("board", of, 200, ({ board_id }) => `?board_id=${board_id}`),
    queryReference("gateway", of, 200, ({ gateway_id }) => `?gateway_id=${gateway_id}`),
  ]),
  "POST /api/v1/jobs/redrive": [
    foreignReference("board", "theirs", 200, ({ board_id }) => ({ board_id })),
    foreignReference("gateway", "theirs", 200, ({ gateway_id }) => ({ gateway_id })),
  ],
  "GET /api/v1/boards/{board_id}/webhooks/{webhook_id}/payloads": [
    queryReference("state of delivery", "known", 200, () => "?delivery_status=queued"),
  ],
  "GET /api/v1/agents": [
    // A visitor may read the board, which has no agents of the visitor's active organization.
    ...boardQuery({ elsewhere: readable("elsewhere"), known: (caller) => (caller.visitor ? 200 : readable("home")(caller)) }),
    ...hostQuery,
  ],
  "GET /api/v1/agents/stream": boardQuery({ elsewhere: readable("elsewhere"), known: readable("home") }),
  "POST /api/v1/agents": [
    foreignReference("board", "theirs", forAgents(403, 404), ({ board_id }) => ({ name: "New", board_id })),
  ],
  "DELETE /api/v1/agents/{agent_id}": [pathReference("the lead", ({ known }) => ({ agent_id: known.lead_id! }), 200)],
  "DELETE /api/v1/agent/boards/{board_id}/agents/{agent_id}": [
    pathReference("the main agent", ({ known }) => ({ agent_id: known.main_id! }), 403),
    pathReference("the main agent of another organization", ({ theirs }) => ({ agent_id: theirs.main_id! }), 404),
  ],
  "PATCH /api/v1/agents/{agent_id}": [
    pathReference("the lead", ({ known }) => ({ agent_id: known.lead_id! }), 200, {
      body: ({ elsewhere }) => ({ board_id: elsewhere.board_id }),
    }),
    foreignReference("board", "theirs", 404, ({ board_id }) => ({ board_id })),
    foreignReference("board", "elsewhere", 200, ({ board_id }) => ({ board_id })),
  ],
  "POST /api/v1/agents/heartbeat": [
    foreignReference("board", "theirs", forAgents(200, 404), ({ board_id }) => ({ name: "New", board_id })),
    {
      about: "another board's agent",
      body: ({ known }) => ({ name: "Worker secluded", board_id: known.board_id }),
      answers: 200,
    },
  ],
  "GET /api/v1/agent/agents": [
    queryReference("board", "theirs", 404, ({ board_id }) => `?board_id=${board_id}`),
    queryReference(
      "board",
      "elsewhere",
      ({ agent }) => (agent === "main" ? 200 : 403),
      ({ board_id }) => `?board_id=${board_id}`,
    ),
    queryReference("board", "known", 200, ({ board_id }) => `?board_id=${board_id}`),
  ],
  "GET /api/v1/activity": filterByTask("task_id"),
  "GET /api/activity": filterByTask("task_id"),
  "GET /api/v1/activity/task-comments": boardQuery({ elsewhere: readable("elsewhere"), known: readable("home") }),
  "GET /api/v1/activity/task-comments/stream": boardQuery({ elsewhere: readable("elsewhere"), known: readable("home") }),
  "GET /api/v1/changes": boardOfChanges,
  "GET /api/v1/changes/stream": boardOfChanges,
  "GET /api/v1/metrics/dashboard": [
    ...boardQuery({ elsewhere: readable("elsewhere"), known: readable("home") }),
    queryReference("group", "theirs", 404, ({ group_id }) => `?group_id=${group_id}`),
    queryReference("group", "known", atHome, ({ group_id }) => `?group_id=${group_id}`),
    // The default range has no whole days, and its first interval is shorter than an hour.
    { about: "a year", query: () => "?range=1y", answers: 200 },
  ],
  "GET /api/v1/metrics/usage": usageMetrics,
  "GET /api/v1/metrics/usage.csv": usageMetrics,
  "POST /api/v1/agent/usage": reportedUsage,
  "GET /api/skills/marketplace": [
    queryReference("gateway", "theirs", 404, ({ gateway_id }) => `?gateway_id=${gateway_id}`),
    queryReference("pack", "theirs", 404, ({ pack_id }) => `?pack_id=${pack_id}`),
    queryReference("pack", "known", 200, ({ pack_id }) => `?pack_id=${pack_id}`),
    queryReference("gateway", "known", 200, ({ spare_gateway_id }) => `?gateway_id=${spare_gateway_id}`),
    { about: "a page", query: () => "?limit=10", answers: 200 },
  ],
  "POST /api/skills/marketplace": [
    {
      about: "an installed skill",
      body: () => ({ source_url: `${REPOSITORY}/tree/main/skill` }),
      answers: 200,
    },
  ],
  "POST /api/skills/marketplace/{skill_id}/install": [
    pathReference("a skill of another organization", ({ theirs }) => ({ skill_id: theirs.skill_id! }), 404, onGateway),
    queryReference("gateway", "theirs", 404, ({ gateway_id }) => `?gateway_id=${gateway_id}`),
  ],
  "POST /api/skills/marketplace/{skill_id}/uninstall": [
    queryReference("gateway", "theirs", 404, ({ gateway_id }) => `?gateway_id=${gateway_id}`),
  ],
  "POST /api/v1/gateways/{gateway_id}/templates/sync": [
    // The board has no agents on this gateway.
    queryReference("board", "theirs", 202, ({ board_id }) => `?board_id=${board_id}`),
    queryReference("board", "elsewhere", 202, ({ board_id }) => `?board_id=${board_id}`),
  ],
  "GET /api/v1/gateway/status": [...hostQuery, queryReference("board", "theirs", 404, ({ board_id }) => `?board_id=${board_id}`)],
  "GET /api/v1/gateway/sessions": [
    ...hostQuery,
    queryReference("board", "theirs", 404, ({ board_id }) => `?board_id=${board_id}`),
  ],
  "POST /api/v1/agent/gateway/leads/broadcast": [
    foreignReference("board", "theirs", 200, ({ board_id }) => ({ content: "Said", board_ids: [board_id] })),
    foreignReference("board", "elsewhere", 200, ({ board_id }) => ({ content: "Said", board_ids: [board_id] })),
  ],
};

/** The callers whose requests pass the earlier checks, so that the rows that they name are checked too. */
export const CALLERS_WITH_REFERENCES = new Set([
  "owner",
  "admin with all boards",
  "member who reads all boards",
  "member who writes to the board",
  "admin who writes to another board",
  "visitor",
  "lead",
  "worker",
  "main agent",
]);
