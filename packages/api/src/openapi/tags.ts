import type { RoleName } from "@board/core/context/actor";
import type { Endpoint } from "../endpoint.ts";
import { type AgentHints, hintsOf } from "../guidance/hints.ts";

/** The tags of the OpenAPI document, in the order in which they should be read. */
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  boards: "Boards, on which people and agents coordinate tasks.",
  tasks: "Tasks of a board, with their comments, dependencies and leases.",
  runs: "Runs: attempts of agents on tasks, with what happened in them and what they used.",
  artifacts: "Files of tasks, such as logs, pictures and diffs, and what people have reviewed of them.",
  approvals: "Requests of agents that people decide.",
  decisions: "Decisions through links and buttons in messages, without sign-in.",
  slack: "Operations that Slack calls.",
  memory: "What a board or a group of boards remembers, and its chat.",
  onboarding: "The conversation by which a new board gets its goal and its lead.",
  agents: "Agents, managed by people.",
  agent: "Operations for agents, with hints on when to use them.",
  activity: "What happened, newest first, and as streams.",
  changes: "Every change in commit order, for mirrors and clients that resume.",
  metrics: "Figures of the dashboard.",
  usage: "Tokens and prices that agents report, and their sums.",
  budgets: "What organizations, boards, agents and tasks may spend.",
  webhooks: "Inbound webhooks of a board and the payloads that they received.",
  subscriptions: "Outbound messages about events of an organization or a board.",
  "board-groups": "Groups of boards that share a memory.",
  tags: "Labels of tasks in an organization.",
  "custom-fields": "Fields that an organization adds to its tasks.",
  organizations: "Organizations, their members and invites.",
  users: "The signed-in person.",
  auth: "Sign-in.",
  keys: "Keys: credentials of programs, with limited rights.",
  audit: "Who changed what, as a chain that shows whether an entry was changed.",
  gateways: "Gateways: registered OpenClaw hosts that run agents, and inboxes for agents without a host.",
  gateway: "Status, sessions and commands of hosts.",
  skills: "Skills and skill packs that agents can install.",
  "souls-directory": "Templates for the characters of agents.",
  jobs: "Background jobs that were given up.",
  service: "Health, and this document.",
  "agent-main": "Operations that the main agent of a gateway may call.",
  "agent-lead": "Operations that the lead of a board may call.",
  "agent-worker": "Operations that workers of a board may call.",
  "agent-board": "Operations that leads and workers may call.",
  any_agent: "Operations that all agents may call.",
};

/** Returns the descriptions of the tags that are used. */
export const describeTags = (used: ReadonlySet<string>): { name: string; description: string }[] =>
  Object.entries(DESCRIPTIONS)
    .filter(([name]) => used.has(name))
    .map(([name, description]) => ({ name, description }));

export const tagsOf = ({ spec }: Endpoint, path: string): string[] =>
  spec.agent ? ["agent", ...roleTags(hintsOf(spec.agent).roles)] : [tagOf(path), ...roleTags(rolesThatMayCall(spec.as.name))];

const ALL_AGENTS = ["main", "lead", "worker"] as const;

/** Returns the agents that may call an operation with this role. */
export const rolesThatMayCall = (name: RoleName): AgentHints["roles"] => AGENT_ROLES[name];

const AGENT_ROLES: Readonly<Record<RoleName, AgentHints["roles"]>> = {
  PUBLIC: [],
  USER: [],
  MEMBER: [],
  ADMIN: [],
  AGENT: ALL_AGENTS,
  LEAD: ["lead"],
  MAIN: ["main"],
  "USER or AGENT": ALL_AGENTS,
  "MEMBER or AGENT": ALL_AGENTS,
  "ADMIN or AGENT": ALL_AGENTS,
  "ADMIN or LEAD": ["lead"],
  READER: ALL_AGENTS,
};

/** Returns the tags by which agents filter operations: one tag for each role, and tags for operations that several roles share. */
function roleTags(roles: AgentHints["roles"]): string[] {
  const shared = roles.includes("lead") && roles.includes("worker");
  return [
    ...roles.map((role) => `agent-${role}`),
    ...(shared ? ["agent-board"] : []),
    ...(roles.length === 3 ? ["any_agent"] : []),
  ];
}

/** Nested resources that have their own tag instead of the tag of their board or organization. */
const NESTED_TAGS = [
  "approvals",
  "artifacts",
  "custom-fields",
  "keys",
  "memory",
  "onboarding",
  "runs",
  "tasks",
  "usage",
  "webhooks",
];
/** Operations of the service itself. They belong to no resource. */
const SERVICE_PATHS = ["health", "healthz", "readyz", "openapi.json"];

const tagOf = (path: string): string => {
  const segments = path
    .split("/")
    .filter((segment) => segment && segment !== "api" && segment !== "v1" && !segment.startsWith("{"));
  const tag = segments.findLast((segment) => NESTED_TAGS.includes(segment)) ?? segments[0] ?? "service";
  return SERVICE_PATHS.includes(tag) ? "service" : tag;
};
