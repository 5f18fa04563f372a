import type { Endpoint } from "@board/api/endpoint";
import type { Caller } from "./callers.ts";

/** The result of the access checks: a status of refusal, or "through" to the operation. */
export type Verdict = 401 | 403 | 404 | 422 | "through";

type Known = Record<string, string>;

/** Valid input by method and canonical path. */
interface Input {
  body?: (known: Known) => object;
  query?: (known: Known) => string;
  /** The status for permitted callers, if it differs from the documented status. */
  answers?: number;
  /** The required right to the board, when it does not follow from the method. */
  need?: "read" | "write";
  /** Additional rules of the operation, after the checks of role and board. */
  rule?: (caller: Caller) => Verdict;
}

const TEXT = { content: "Said" };
const TASK = { title: "New" };
const RECEIVER = { url: "https://93.184.215.14/events" };
const COMPLETION = { status: "complete", board_type: "goal", objective: "Ship it", success_metrics: { customers: 10 } };
const ownersOnly = ({ role }: Caller): Verdict => (role === "owner" ? "through" : 403);
const adminsOnly = ({ home, role }: Caller): Verdict => (!home ? 404 : role === "member" ? 403 : "through");
/** Expects 404 for other organizations. The board is only a value in the input, so the caller needs no right to the board. */
const wholeOrganization = ({ home }: Caller): Verdict => (home ? "through" : 404);
const anyMembership = ({ home, visitor }: Caller): Verdict => (home || visitor ? "through" : 404);
/** Expects 422 for a foreign board in a body, because it is an invalid value there and not a missing resource (404). */
const bodyReference = ({ home }: Caller): Verdict => (home ? "through" : 422);
/** Expects 404 for a board outside of the active organization, because the admin role counts only in the active organization. */
const boardAtHome =
  (need: "read" | "write") =>
  (caller: Caller): Verdict =>
    caller.visitor ? 404 : boardVerdict(caller, need);
/** Expects that a lead creates agents only on its own board. */
const ownBoard = (caller: Caller): Verdict =>
  caller.is === "user" ? boardAtHome("write")(caller) : caller.own ? "through" : 403;
const ownRun = ({ home, name }: Caller): Verdict => (home && name === "worker" ? "through" : 404);
const ownerOfKey = ({ home, role }: Caller): Verdict => (home && role === "owner" ? "through" : 404);
const isKeyForOneBoard = ({ key, home, reads }: Caller): boolean => key !== undefined && home && reads.length === 1;
/** Expects that a key for one board changes no key for all boards. */
const otherKey = (caller: Caller): Verdict => (!caller.home ? 404 : isKeyForOneBoard(caller) ? 403 : "through");
const byGateway = ({ gateway_id }: Known) => `?gateway_id=${gateway_id}`;
const byBoard = ({ board_id }: Known) => `?board_id=${board_id}`;

/** The keys in the example of RFC 8291. */
const PUSH_KEYS = {
  p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
  auth: "BTBZMqHH6r4Tts7J_aSIgg",
};

export const INPUTS: Record<string, Input> = {
  "GET /docs/{file}": { answers: 404 },
  "GET /assets/{file}": { answers: 404 },
  "GET /icons/{file}": { answers: 404 },
  /** The last owner cannot leave while there are other members. */
  "DELETE /api/v1/users/me": { rule: ({ role, visitor }) => (role === "owner" && !visitor ? 422 : "through") },
  "DELETE /organizations/me": { rule: ownersOnly },
  "PATCH /organizations/me": { body: () => ({ name: "New" }) },
  "GET /organizations/me/members/{member_id}": { rule: adminsOnly },
  "PATCH /api/v1/users/me": { body: () => ({ pronouns: "they" }) },
  /** Without a signed token there is nothing to decide or to stop. */
  "POST /api/v1/decisions": { body: () => ({ token: "none", status: "approved" }), answers: 404 },
  "GET /decide": { answers: 404 },
  "POST /decide": { answers: 404 },
  "POST /unsubscribe": { answers: 404 },
  "PATCH /api/v1/users/me/channels/{channel_id}": { body: () => ({ active: true }), rule: ownerOfKey },
  "DELETE /api/v1/users/me/channels/{channel_id}": { rule: ownerOfKey },
  "POST /api/v1/users/me/channels/{channel_id}/test": { rule: ownerOfKey },
  /** The answer is 422, because Slack does not accept the token. */
  "PUT /api/v1/organizations/me/slack": {
    body: () => ({ bot_token: "xoxb-none", signing_secret: "0".repeat(32) }),
    answers: 422,
  },
  "POST /api/v1/slack/interactions": { answers: 403 },
  "POST /api/v1/slack/commands": { answers: 403 },
  "POST /api/v1/users/me/push": { body: () => ({ name: "Browser", endpoint: "https://push.example.com/1", keys: PUSH_KEYS }) },
  /** The answer is 409, because the task is not in review. */
  "POST /api/v1/boards/{board_id}/tasks/{task_id}/send-back": { answers: 409 },
  "POST /api/v1/users/me/inbox/read": { body: () => ({}) },
  "PUT /api/v1/users/me/notifications": { body: () => ({ digest_time: "09:00" }) },
  "PUT /api/v1/boards/{board_id}/saved-views": { body: () => ({ views: [] }), need: "read" },
  "PUT /api/v1/boards/{board_id}/follow": { need: "read" },
  "DELETE /api/v1/boards/{board_id}/follow": { need: "read" },
  "PUT /api/v1/boards/{board_id}/tasks/{task_id}/follow": { need: "read" },
  "DELETE /api/v1/boards/{board_id}/tasks/{task_id}/follow": { need: "read" },
  "POST /organizations": { body: () => ({ name: "New" }) },
  "PATCH /organizations/me/active": {
    body: ({ organization_id }) => ({ organization_id }),
    rule: anyMembership,
  },
  "PATCH /organizations/me/members/{member_id}": { body: () => ({ role: "admin" }) },
  "PUT /organizations/me/members/{member_id}/access": {
    body: ({ board_id }) => ({
      all_boards_read: false,
      all_boards_write: false,
      board_access: [{ board_id, can_read: true, can_write: false }],
    }),
    rule: wholeOrganization,
  },
  "POST /organizations/me/invites": { body: () => ({ invited_email: "new@example.com" }) },
  "POST /organizations/invites/accept": { body: () => ({ token: "x".repeat(43) }), answers: 404 },
  "POST /organizations/me/custom-fields": {
    body: ({ board_id }) => ({ field_key: "new", board_ids: [board_id] }),
    rule: bodyReference,
  },
  "PATCH /organizations/me/custom-fields/{field_id}": { body: () => ({ label: "New" }) },
  "POST /api/v1/keys": {
    body: ({ board_id }) => ({ name: "New", access: "read", board_ids: [board_id] }),
    // A key can give access only to boards that it is limited to itself.
    rule: (caller) => (caller.home && caller.key && !caller.reads.includes("home") ? 403 : bodyReference(caller)),
  },
  "POST /api/v1/keys/{key_id}/rotate": { body: () => ({}), rule: otherKey },
  "DELETE /api/v1/keys/{key_id}": { rule: otherKey },
  "POST /api/v1/users/me/keys": {
    body: ({ board_id }) => ({ name: "New", access: "read", board_ids: [board_id] }),
    rule: bodyReference,
  },
  "POST /api/v1/users/me/keys/{key_id}/rotate": { body: () => ({}), rule: ownerOfKey },
  "DELETE /api/v1/users/me/keys/{key_id}": { rule: ownerOfKey },
  "POST /api/tags": { body: () => ({ name: "New" }) },
  "PATCH /api/tags/{tag_id}": { body: () => ({ name: "New" }) },
  "POST /api/v1/gateways": {
    body: () => ({ name: "New", url: "ws://127.0.0.1:9", workspace_root: "/srv/agents", token: "test-token-123" }),
  },
  "PATCH /api/v1/gateways/{gateway_id}": { body: () => ({ name: "New" }) },
  /** The answer is 409, because the gateway has boards and agents. */
  "DELETE /api/v1/gateways/{gateway_id}": { answers: 409 },
  "POST /api/v1/gateways/{gateway_id}/templates/sync": { answers: 202 },
  "GET /api/v1/gateway/status": { query: byBoard, rule: boardAtHome("read") },
  "GET /api/v1/gateway/sessions": { query: byBoard, rule: boardAtHome("read") },
  "GET /api/v1/gateway/sessions/{session_id}": { query: byBoard, answers: 404, rule: boardAtHome("read") },
  "GET /api/v1/gateway/sessions/{session_id}/history": { query: byBoard, rule: boardAtHome("read") },
  "POST /api/v1/gateway/sessions/{session_id}/message": { query: byBoard, body: () => TEXT, rule: boardAtHome("write") },
  "POST /api/v1/boards": { body: ({ gateway_id }) => ({ name: "New", description: "New", gateway_id }), rule: bodyReference },
  "PATCH /api/v1/boards/{board_id}": { body: () => ({ description: "New" }) },
  "POST /api/v1/board-groups": { body: () => ({ name: "New" }) },
  "PATCH /api/v1/board-groups/{group_id}": { body: () => ({ name: "New" }) },
  "POST /api/v1/board-groups/{group_id}/heartbeat": { body: () => ({ every: "10m" }) },
  "POST /api/v1/boards/{board_id}/memory": { body: () => TEXT },
  "POST /api/v1/board-groups/{group_id}/memory": { body: () => TEXT },
  "POST /api/v1/boards/{board_id}/group-memory": { body: () => TEXT },
  "POST /api/v1/boards/{board_id}/onboarding/start": { body: () => ({}) },
  "POST /api/v1/boards/{board_id}/onboarding/answer": { body: () => ({ answer: "Yes" }) },
  "POST /api/v1/boards/{board_id}/onboarding/agent": { body: () => COMPLETION },
  "POST /api/v1/agent/boards/{board_id}/onboarding": { body: () => COMPLETION },
  "POST /api/v1/boards/{board_id}/onboarding/confirm": { body: () => ({ board_type: "ops" }) },
  "POST /api/v1/tasks": { body: ({ board_id }) => ({ board_id, ...TASK }) },
  "POST /api/v1/boards/{board_id}/tasks": { body: () => TASK },
  "PATCH /api/v1/boards/{board_id}/tasks/{task_id}": { body: () => ({ status: "in_progress" }) },
  "POST /api/v1/boards/{board_id}/tasks/{task_id}/comments": { body: () => TEXT },
  "POST /api/v1/boards/{board_id}/runs/{run_id}/stop": {
    body: () => ({}),
    rule: (caller) => {
      const verdict = boardVerdict(caller, "write");
      return verdict === "through" && caller.is === "agent" && caller.agent !== "lead" ? 403 : verdict;
    },
  },
  /** Only the worker may end this run, because the run belongs to it. */
  "PATCH /api/v1/agent/runs/{run_id}": { body: () => ({ ended_reason: "Done" }), rule: ownRun },
  "POST /api/v1/agent/runs/{run_id}/steps": {
    body: () => ({ from: 0, steps: [{ kind: "message", text: "Said" }] }),
    rule: ownRun,
  },
  "POST /api/v1/boards/{board_id}/tasks/{task_id}/artifacts": { body: () => ({ name: "log.txt", content: "bG9n" }) },
  /** The answer is 409, because the artifact already has its content. */
  "PUT /api/v1/boards/{board_id}/artifacts/{artifact_id}/content": { answers: 409 },
  /** Agents are refused, because a person has added the artifact. */
  "DELETE /api/v1/boards/{board_id}/artifacts/{artifact_id}": {
    rule: (caller) => {
      const verdict = boardVerdict(caller, "write");
      return verdict === "through" && caller.is === "agent" ? 403 : verdict;
    },
  },
  "PUT /api/v1/boards/{board_id}/artifacts/{artifact_id}/reviewed-files": { body: () => ({ paths: ["a.ts"] }), need: "read" },
  "POST /api/v1/boards/{board_id}/approvals": { body: () => ({ action_type: "Do", description: "It is ready" }) },
  "PATCH /api/v1/boards/{board_id}/approvals/{approval_id}": { body: () => ({ status: "approved" }) },
  "POST /api/v1/subscriptions": { body: () => RECEIVER },
  "PATCH /api/v1/subscriptions/{subscription_id}": { body: () => ({ active: false }) },
  "POST /api/v1/subscriptions/{subscription_id}/recover": { body: () => ({ since: "2026-01-01" }) },
  "POST /api/v1/boards/{board_id}/subscriptions": { body: () => RECEIVER },
  "GET /api/v1/boards/{board_id}/subscriptions": { need: "write" },
  "GET /api/v1/boards/{board_id}/subscriptions/{subscription_id}": { need: "write" },
  "PATCH /api/v1/boards/{board_id}/subscriptions/{subscription_id}": { body: () => ({ active: false }) },
  "POST /api/v1/boards/{board_id}/subscriptions/{subscription_id}/recover": { body: () => ({ since: "2026-01-01" }) },
  "GET /api/v1/boards/{board_id}/subscriptions/{subscription_id}/deliveries": { need: "write" },
  "GET /api/v1/boards/{board_id}/subscriptions/{subscription_id}/deliveries/{delivery_id}": { need: "write" },
  "POST /api/v1/boards/{board_id}/webhooks": { body: () => ({ description: "New" }) },
  "GET /api/v1/boards/{board_id}/webhooks": { need: "write" },
  "PATCH /api/v1/boards/{board_id}/webhooks/{webhook_id}": { body: () => ({ description: "New" }) },
  "POST /api/v1/boards/{board_id}/webhooks/{webhook_id}": { body: () => ({ any: "thing" }), answers: 202 },
  "POST /api/v1/agent/usage": { body: () => ({ entries: [{ key: "turn", input_tokens: 1 }] }) },
  "POST /api/v1/budgets": {
    body: ({ board_id }) => ({ scope: "board", scope_id: board_id, limit: { runs: 1 } }),
    rule: boardAtHome("write"),
  },
  "GET /api/v1/budgets/{budget_id}": { rule: boardAtHome("write") },
  "PATCH /api/v1/budgets/{budget_id}": { body: () => ({ warn_at: 0.5 }), rule: boardAtHome("write") },
  "DELETE /api/v1/budgets/{budget_id}": { rule: boardAtHome("write") },
  "POST /api/v1/agent/inbox/ack": { body: () => ({ ids: [] }) },
  "POST /api/v1/boards/{board_id}/webhooks/{webhook_id}/redeliver": { body: () => ({ status: "failed" }), answers: 202 },
  "POST /api/v1/boards/{board_id}/webhooks/{webhook_id}/payloads/{payload_id}/redeliver": { answers: 202 },
  "POST /api/v1/agents": { body: ({ board_id }) => ({ name: "New", board_id }), rule: ownBoard },
  "PATCH /api/v1/agents/{agent_id}": { body: () => ({ name: "New" }) },
  /** An agent always gets its own heartbeat, so its rights to the board do not matter. */
  "POST /api/v1/agents/heartbeat": {
    body: ({ board_id }) => ({ name: "New", board_id }),
    rule: (caller) => (caller.is === "agent" ? "through" : boardAtHome("write")(caller)),
  },
  "POST /api/v1/agents/{agent_id}/heartbeat": { body: () => ({}) },
  "POST /api/v1/agent/agents": { body: ({ board_id }) => ({ name: "New", board_id }), rule: ownBoard },
  "POST /api/v1/agent/boards/{board_id}/agents/{agent_id}/nudge": { body: () => ({ message: "Go on" }) },
  "GET /api/v1/agent/boards/{board_id}/agents/{agent_id}/soul": {
    rule: (caller) => (caller.agent === "main" && caller.home ? 403 : boardVerdict(caller, "read")),
  },
  "PUT /api/v1/agent/boards/{board_id}/agents/{agent_id}/soul": { body: () => ({ content: "# SOUL" }) },
  "POST /api/v1/agent/tasks/next": { body: ({ board_id }) => ({ board_id }) },
  "PUT /api/v1/agent/boards/{board_id}/tasks/{task_id}/lease": {
    body: () => ({}),
    rule: (caller) => {
      const verdict = boardVerdict(caller, "write");
      return verdict === "through" && caller.agent === "lead" ? 403 : verdict;
    },
  },
  "POST /api/v1/agent/runs/{run_id}/token": { rule: ownRun },
  /** The answer is 409, because the task has no lease. */
  "DELETE /api/v1/agent/boards/{board_id}/tasks/{task_id}/lease": { answers: 409 },
  "POST /api/v1/agent/boards/{board_id}/tasks": { body: () => TASK },
  "PATCH /api/v1/agent/boards/{board_id}/tasks/{task_id}": { body: () => ({ status: "in_progress" }) },
  "POST /api/v1/agent/boards/{board_id}/tasks/{task_id}/comments": { body: () => TEXT },
  "POST /api/v1/agent/boards/{board_id}/memory": { body: () => TEXT },
  "POST /api/v1/agent/boards/{board_id}/approvals": { body: () => ({ action_type: "Do", description: "It is ready" }) },
  "POST /api/v1/agent/boards/{board_id}/gateway/main/ask-user": { body: () => TEXT },
  "POST /api/v1/agent/gateway/boards/{board_id}/lead/message": { body: () => TEXT },
  "POST /api/v1/agent/gateway/leads/broadcast": { body: () => TEXT },
  /** An empty cursor reads all entries that are kept. */
  "GET /api/v1/changes": { query: () => "?cursor=" },
  "GET /api/v1/changes/stream": { query: () => "?cursor=" },
  /** The cases of the tools are in tool-cases.ts. */
  "POST /mcp": { body: () => ({ jsonrpc: "2.0", id: 1, method: "tools/list" }) },
  "GET /api/skills/marketplace": { query: byGateway },
  "POST /api/skills/marketplace": { body: () => ({ source_url: "https://example.com/new" }) },
  "POST /api/skills/marketplace/{skill_id}/install": { query: byGateway },
  "POST /api/skills/marketplace/{skill_id}/uninstall": { query: byGateway },
  "POST /api/skills/packs": { body: () => ({ source_url: "https://github.com/acme/new" }) },
  "PATCH /api/skills/packs/{pack_id}": { body: () => ({ source_url: "https://github.com/acme/new" }) },
  "POST /api/skills/packs/{pack_id}/sync": { answers: 202 },
  "GET /api/souls-directory/{handle}/{slug}": { answers: 404 },
};

/** Returns the input of an operation by its canonical path. */
export const inputOf = ({ method, paths }: Endpoint): Input => INPUTS[`${method} ${paths[0]}`] ?? {};

/** Returns a placeholder instead of an id for every name, so that inputs can be built without rows. */
const NAMES: Known = new Proxy({}, { get: (_target, name) => `{${String(name)}}` });

/** Applies the access rules to what an operation declares and names. */
export function verdictOf(endpoint: Endpoint, path: string, caller: Caller): Verdict {
  const { as } = endpoint.spec;
  if (as.name === "PUBLIC") return "through";
  if (!isKnown(endpoint, caller)) return 401;
  if (!canAct(as.name, caller) || isRefusedToKey(endpoint, caller)) return 403;
  const { query, body, need = endpoint.method === "GET" ? "read" : "write", rule } = inputOf(endpoint);
  if (rule) return rule(caller);
  const names = new Set(
    [...`${path} ${query?.(NAMES)} ${JSON.stringify(body?.(NAMES))}`.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!),
  );
  if (names.has("group_id")) return groupVerdict(caller, need);
  if (names.has("board_id")) return boardVerdict(caller, need);
  if (names.has("agent_id")) return agentVerdict(caller, need);
  return [...names].some((name) => name.endsWith("_id") && name !== "session_id") && !caller.home ? 404 : "through";
}

const isKnown = ({ spec: { as } }: Endpoint, { is }: Caller): boolean =>
  is !== "nobody" && (is === "user" ? as.users : as.agents);

/**
 * Checks whether keys are refused: no key may do what only a person may do, a key with read access may change nothing, and a key
 * for one board may administer only keys and agents.
 */
function isRefusedToKey({ method, paths, spec }: Endpoint, caller: Caller): boolean {
  const path = paths[0]!;
  const { key } = caller;
  if (!key || path === "/mcp" || path === "/api/v1/auth/bootstrap") return false;
  if (path === "/api/v1/users/me" && method === "GET") return false;
  const isOfPerson = /^\/api\/v1\/users\/me|follow$|saved-views$|reviewed-files$|\/onboarding/.test(path);
  if (isOfPerson || (spec.as.name === "USER" && path.startsWith("/organizations"))) return true;
  const affectsAllBoards = spec.as.name.startsWith("ADMIN") && !/^\/api\/(v1\/(keys|agents)|souls-directory)/.test(path);
  return (key === "read" && method !== "GET") || (key === "admin" && affectsAllBoards && isKeyForOneBoard(caller));
}

/** Checks whether a caller's credential and role permit the operation, whatever ids its path contains. */
export const canCall = (endpoint: Endpoint, caller: Caller): boolean =>
  endpoint.spec.as.name === "PUBLIC" ||
  (isKnown(endpoint, caller) && canAct(endpoint.spec.as.name, caller) && !isRefusedToKey(endpoint, caller));

function canAct(role: string, { is, role: rank, agent }: Caller): boolean {
  if (is === "user") return !(role.startsWith("ADMIN") || role === "READER") || rank !== "member";
  if (role === "LEAD" || role === "ADMIN or LEAD") return agent === "lead";
  return role !== "MAIN" || agent === "main";
}

function boardVerdict({ is, home, board, own }: Caller, need: "read" | "write"): Verdict {
  if (is === "agent") return !home ? 404 : own ? "through" : 403;
  if (board === "none") return 404;
  return need === "write" && board === "read" ? 403 : "through";
}

/** Returns the verdict for a group. In the active organization, a right to any board of a group is a right to the group. */
function groupVerdict(caller: Caller, need: "read" | "write"): Verdict {
  if (!caller.home) return 404;
  if (caller.reads.includes("neighbour") && caller.board === "none") return need === "read" ? "through" : 403;
  return boardVerdict(caller, need);
}

/** Returns the verdict for the worker of the home board, when the path has only the id of the agent. */
function agentVerdict(caller: Caller, need: "read" | "write"): Verdict {
  if (caller.is === "user") return boardAtHome(need)(caller);
  if (!caller.home) return 404;
  return caller.name === "worker" ? "through" : 403;
}
