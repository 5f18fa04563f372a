import type { Context } from "./context.ts";
import { DomainError, unauthenticated } from "./errors.ts";
import type { Settings } from "./settings.ts";

export type MemberRole = "owner" | "admin" | "member";

/** A membership in the caller's active organization. */
export interface Membership {
  member_id: string;
  organization_id: string;
  role: MemberRole;
  all_boards_read: boolean;
  all_boards_write: boolean;
}

/** A person. `active` is null until something asks for an organization. */
export interface User {
  type: "user";
  user_id: string;
  /** How the person is named to others: preferred name, name or `User`. */
  display_name: string;
  active: Membership | null;
}
export type Member = User & { active: Membership };
export type Admin = Member & { active: Membership & { role: "owner" | "admin" } };

/** An agent by its token. The organization is that of its gateway. */
export interface Agent {
  type: "agent";
  agent_id: string;
  name: string;
  organization_id: string;
  gateway_id: string;
  /** Null for the main agent of the gateway. */
  board_id: string | null;
  is_board_lead: boolean;
  openclaw_session_id: string | null;
  /** This request moved `last_seen_at`. */
  newly_seen: boolean;
}
export type Lead = Agent & { board_id: string; is_board_lead: true };
export type Main = Agent & { board_id: null };

/** The service itself: consumers and schedules. */
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
  | "ADMIN or AGENT"
  | "ADMIN or LEAD"
  | "READER";

/**
 * Who may call something: which credentials are looked at, whether an active organization is needed (it is made on
 * first use), and the check that narrows the actor's type. Path and input play no part in it (contract conventions.md §6).
 */
export interface Role<A extends Actor = Actor> {
  readonly name: RoleName;
  readonly users: boolean;
  readonly agents: boolean;
  readonly organization: boolean;
  readonly narrow: (actor: Actor, settings: Settings) => A;
}

const refuse = (): never => {
  throw unauthenticated();
};

export const anyone: Role<Actor> = { name: "PUBLIC", users: false, agents: false, organization: false, narrow: (actor) => actor };

export const user: Role<User> = {
  name: "USER",
  users: true,
  agents: false,
  organization: false,
  narrow: (actor) => (actor.type === "user" ? actor : refuse()),
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
  return actor.type === "agent" ? actor : refuse();
}

export const lead: Role<Lead> = { ...agent, name: "LEAD", narrow: toLead };

function toLead(actor: Actor): Lead {
  const found = toAgent(actor);
  if (!found.is_board_lead || found.board_id === null)
    throw new DomainError("forbidden", "Only board leads can perform this action");
  return found as Lead;
}

export const main: Role<Main> = {
  ...agent,
  name: "MAIN",
  narrow(actor) {
    const found = toAgent(actor);
    if (found.board_id !== null || found.openclaw_session_id !== mainSessionKey(found.gateway_id))
      throw new DomainError("forbidden", "Only the gateway main agent can perform this action");
    return found as Main;
  },
};

/** Users by their access to the board, agents by their own board (the X- tags of the contract). */
export const userOrAgent: Role<User | Agent> = {
  name: "USER or AGENT",
  users: true,
  agents: true,
  organization: false,
  narrow: (actor) => (actor.type === "user" || actor.type === "agent" ? actor : refuse()),
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

/** Whoever may read the activity log: agents, and admins or all members as the service is set. */
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

/** The session of a gateway's main agent; holding exactly this key is what makes an agent the main one. */
export const mainSessionKey = (gateway_id: string) => `agent:mc-gateway-${gateway_id}:main`;

export function as<A extends Actor>(ctx: Context, role: Role<A>): Context<A> {
  return { ...ctx, actor: role.narrow(ctx.actor, ctx.settings) };
}
