import { DomainError, unauthenticated } from "../values/errors.ts";
import type { Settings } from "../config/settings.ts";

export type MemberRole = "owner" | "admin" | "member";

/** A membership in the caller's active organization. */
export interface Membership {
  member_id: string;
  organization_id: string;
  role: MemberRole;
  all_boards_read: boolean;
  all_boards_write: boolean;
}

/** A person. `active` is null in requests that do not need an organization. */
export interface User {
  type: "user";
  user_id: string;
  /** The name that others see: the preferred name, else the name, else `User`. */
  display_name: string;
  active: Membership | null;
  /** Set only for the service user that a key acts as. A personal key for all boards has only the boards of its person. */
  key?: { access: "read" | "write" | "admin"; is_for_all_boards: boolean };
}
export type Member = User & { active: Membership };
export type Admin = Member & { active: Membership & { role: "owner" | "admin" } };

/**
 * The run that a run token belongs to. With this token, the caller may work on the task of the run and on nothing else
 * (run-scope.ts).
 */
export interface RunScope {
  run_id: string;
  board_id: string;
  task_id: string;
}

/** An agent, authenticated by its token. It belongs to the organization of its gateway. */
export interface Agent {
  type: "agent";
  agent_id: string;
  name: string;
  organization_id: string;
  gateway_id: string;
  /** Null for the main agent of a gateway. */
  board_id: string | null;
  is_board_lead: boolean;
  openclaw_session_id: string | null;
  /** Null means no limit. */
  requests_per_minute: number | null;
  /** Whether the organization has any budget. If not, no code needs to look for budgets. */
  has_budgets: boolean;
  /** Whether this request updated `last_seen_at`. */
  newly_seen: boolean;
  /** Set only if the caller used a run token. */
  run?: RunScope;
}
export type Lead = Agent & { board_id: string; is_board_lead: true };
export type Main = Agent & { board_id: null };

/** The service itself, when it runs jobs and schedules. */
export interface System {
  type: "system";
}
export interface Public {
  type: "public";
}

export type Actor = User | Agent | System | Public;

export type RoleName =
  | "PUBLIC"
  | "USER"
  | "MEMBER"
  | "ADMIN"
  | "AGENT"
  | "LEAD"
  | "MAIN"
  | "USER or AGENT"
  | "MEMBER or AGENT"
  | "ADMIN or AGENT"
  | "ADMIN or LEAD"
  | "READER";

/**
 * Who may call an operation: the accepted credentials, whether it needs an active organization (created on first use), and the
 * check that narrows the actor's type. A role does not depend on the path or the input (docs/reference/conventions.md#roles).
 */
export interface Role<A extends Actor = Actor> {
  readonly name: RoleName;
  readonly users: boolean;
  readonly agents: boolean;
  readonly organization: boolean;
  readonly narrow: (actor: Actor, settings: Settings) => A;
}

const rejectUnauthenticated = (): never => {
  throw unauthenticated();
};

export const anyone: Role<Actor> = { name: "PUBLIC", users: false, agents: false, organization: false, narrow: (actor) => actor };

export const user: Role<User> = {
  name: "USER",
  users: true,
  agents: false,
  organization: false,
  narrow: (actor) => (actor.type === "user" ? actor : rejectUnauthenticated()),
};

function toMember(actor: Actor): Member {
  if (actor.type !== "user" || !actor.active) throw unauthenticated();
  return actor as Member;
}
function toAdmin(actor: Actor): Admin {
  const member = toMember(actor);
  if (member.active.role === "member") throw new DomainError("forbidden", "Forbidden");
  return member as Admin;
}

export const member: Role<Member> = { name: "MEMBER", users: true, agents: false, organization: true, narrow: toMember };
export const admin: Role<Admin> = { name: "ADMIN", users: true, agents: false, organization: true, narrow: toAdmin };

export const agent: Role<Agent> = {
  name: "AGENT",
  users: false,
  agents: true,
  organization: false,
  narrow: toAgent,
};

function toAgent(actor: Actor): Agent {
  return actor.type === "agent" ? actor : rejectUnauthenticated();
}

export const lead: Role<Lead> = { ...agent, name: "LEAD", narrow: toLead };

function toLead(actor: Actor): Lead {
  const agent = toAgent(actor);
  if (!agent.is_board_lead || agent.board_id === null)
    throw new DomainError("forbidden", "Only board leads can perform this action");
  return agent as Lead;
}

export const main: Role<Main> = {
  ...agent,
  name: "MAIN",
  narrow(actor) {
    const agent = toAgent(actor);
    if (agent.board_id !== null || agent.openclaw_session_id !== mainSessionKey(agent.gateway_id))
      throw new DomainError("forbidden", "Only the gateway main agent can perform this action");
    return agent as Main;
  },
};

/** Users with access to the board, and agents of the board (docs/reference/conventions.md#board-access). */
export const userOrAgent: Role<User | Agent> = {
  name: "USER or AGENT",
  users: true,
  agents: true,
  organization: false,
  narrow: (actor) => (actor.type === "user" || actor.type === "agent" ? actor : rejectUnauthenticated()),
};

/** Members of the active organization, and agents. */
export const memberOrAgent: Role<Member | Agent> = {
  name: "MEMBER or AGENT",
  users: true,
  agents: true,
  organization: true,
  narrow: (actor) => (actor.type === "agent" ? actor : toMember(actor)),
};

export const adminOrAgent: Role<Admin | Agent> = {
  name: "ADMIN or AGENT",
  users: true,
  agents: true,
  organization: true,
  narrow: (actor) => (actor.type === "agent" ? actor : toAdmin(actor)),
};

export const adminOrLead: Role<Admin | Lead> = {
  name: "ADMIN or LEAD",
  users: true,
  agents: true,
  organization: true,
  narrow: (actor) => (actor.type === "agent" ? toLead(actor) : toAdmin(actor)),
};

/** Readers of the activity log: agents, and admins or all members depending on ACTIVITY_READERS. */
export const reader: Role<Member | Agent> = {
  name: "READER",
  users: true,
  agents: true,
  organization: true,
  narrow(actor, { activity_readers }) {
    if (actor.type === "agent") return actor;
    return activity_readers === "member" ? toMember(actor) : toAdmin(actor);
  },
};

/**
 * Returns the session key of a gateway's main agent. An agent without a board is the main agent only if it has exactly this key.
 */
export const mainSessionKey = (gateway_id: string) => `agent:mc-gateway-${gateway_id}:main`;

/** Returns the column that stores who did something. For the service itself, it returns no column. */
export const actorColumns = (actor: User | Agent | System): { agent_id?: string; user_id?: string } =>
  actor.type === "agent" ? { agent_id: actor.agent_id } : actor.type === "user" ? { user_id: actor.user_id } : {};

/** Returns the id of an agent; null for a person or the service. */
export const agentIdOf = (actor: User | Agent | System): string | null => (actor.type === "agent" ? actor.agent_id : null);

/** Returns the name that others read in messages and chats. */
export const actorName = (actor: User | Agent): string => (actor.type === "agent" ? actor.name : actor.display_name);
