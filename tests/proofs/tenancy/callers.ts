import { organization_board_access, organization_members } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import type { CallOptions } from "../../support/http.ts";
import { actAsMainAgent } from "../../support/main-agent.ts";
import type { Tenant, World } from "../../support/world.ts";
import { createKeyCallers } from "./key-callers.ts";
import { seedSlackApp } from "./seed-tenant.ts";

/** The boards of the home organization: the requested board, an unrelated board, and another board in the same group. */
export type BoardPlace = "home" | "elsewhere" | "neighbour";
export const ALL_BOARDS: readonly BoardPlace[] = ["home", "elsewhere", "neighbour"];

/** A caller and its rights. */
export interface Caller {
  name: string;
  options: CallOptions;
  is: "nobody" | "user" | "agent";
  /** Whether the caller belongs to the home organization; for a person, whether the home organization is active. */
  home: boolean;
  /** A member of the home organization whose active organization is another: only boards are accessible. */
  visitor?: boolean;
  /** The access of the key with which a program calls. */
  key?: "read" | "write" | "admin";
  /** The role of a person in the active organization. */
  role?: "owner" | "admin" | "member";
  /** The right of a person to the home board. */
  board?: "none" | "read" | "write";
  /** The boards of the home organization that the caller may read. */
  reads: readonly BoardPlace[];
  agent?: "lead" | "worker" | "main";
  /** Whether the home board is the agent's board or a board of its gateway. */
  own?: boolean;
}

/** Returns the caller as the other organization sees it. */
export const strangerLike = ({ visitor: _visitor, ...caller }: Caller): Caller => ({
  ...caller,
  home: false,
  own: false,
  ...(caller.is === "user" ? { board: "none" } : {}),
});

/** The ids of the boards, and of a gateway of the home organization that has none of these boards. */
interface BoardPlaces extends Record<BoardPlace | "theirs", string> {
  apart_gateway_id: string;
}

/** Creates all callers. */
export async function createCallers(world: World, home: Tenant, stranger: Tenant, places: BoardPlaces): Promise<Caller[]> {
  const { gateway_id, organization_id } = home;
  const { token } = home.owner;
  const join = (name: string, role: "admin" | "member", rights: Rights) =>
    createMemberCaller(world, { organization_id, places }, name, role, rights);
  const read = { can_read: true, can_write: false };
  const write = { can_read: false, can_write: true };
  const other = await world.call("POST", "/api/v1/agents", {
    token,
    body: { name: "Other", board_id: places.elsewhere, is_board_lead: true },
  });
  const guest = await world.person("stranger's member");
  await world.join(guest, stranger.organization_id, "member", { read: true, write: true });
  const agent = (name: string, token: string, role: Caller["agent"], at: Partial<Caller>): Caller => ({
    name,
    options: { agent: token },
    is: "agent",
    home: true,
    agent: role!,
    reads: [],
    ...at,
  });
  const mains = [gateway_id, places.apart_gateway_id, stranger.gateway_id].map((id) => actAsMainAgent(world, id));
  const [main, otherMain, strangerMain] = await Promise.all(mains);
  return [
    { name: "nobody", options: {}, is: "nobody", home: false, reads: [] },
    { name: "an unknown person", options: { token: "x".repeat(43) }, is: "nobody", home: false, reads: [] },
    { name: "an unknown agent", options: { agent: "x".repeat(43) }, is: "nobody", home: false, reads: [] },
    { name: "owner", options: { token }, is: "user", home: true, role: "owner", board: "write", reads: ALL_BOARDS },
    await join("admin without boards", "admin", null),
    await join("admin with all boards", "admin", { at: "all", ...write }),
    await join("admin who reads all boards", "admin", { at: "all", ...read }),
    await join("member without boards", "member", null),
    await join("member who reads the board", "member", { at: "home", ...read }),
    await join("member who writes to the board", "member", { at: "home", ...write }),
    await join("member who reads all boards", "member", { at: "all", ...read }),
    await join("member who writes to another board", "member", { at: "elsewhere", ...write }),
    await join("admin who writes to another board", "admin", { at: "elsewhere", ...write }),
    await join("member who reads a board of its group", "member", { at: "neighbour", ...read }),
    await createVisitorCaller(world, organization_id, places.home),
    agent("lead", home.lead.token, "lead", { own: true, reads: ["home"] }),
    agent("worker", home.worker.token, "worker", { own: true, reads: ["home"] }),
    agent("main agent", main!.token, "main", { own: true, reads: ALL_BOARDS }),
    agent("main agent of another gateway", otherMain!.token, "main", { own: false }),
    agent("lead of another board", other.body.auth_token, "lead", { own: false, reads: ["elsewhere"] }),
    {
      name: "another owner",
      options: { token: stranger.owner.token },
      is: "user",
      home: false,
      role: "owner",
      board: "none",
      reads: [],
    },
    {
      name: "another's member",
      options: { token: guest.token },
      is: "user",
      home: false,
      role: "member",
      board: "none",
      reads: [],
    },
    agent("another's lead", stranger.lead.token, "lead", { home: false, own: false }),
    agent("another's worker", stranger.worker.token, "worker", { home: false, own: false }),
    agent("another's main agent", strangerMain!.token, "main", { home: false, own: false }),
    ...(await createKeyCallers(world, home, stranger, places)),
  ];
}

type Rights = { at: BoardPlace | "all"; can_read: boolean; can_write: boolean } | null;

async function createMemberCaller(
  world: World,
  { organization_id, places }: { organization_id: string; places: BoardPlaces },
  name: string,
  role: "admin" | "member",
  rights: Rights,
): Promise<Caller> {
  const person = await world.person(name);
  const member = await world.join(person, organization_id, role);
  const caller = { name, options: { token: person.token }, is: "user", home: true, role } as const;
  if (!rights) return { ...caller, board: "none", reads: [] };
  const { at, can_read, can_write } = rights;
  if (at === "all")
    await world.db
      .update(organization_members)
      .set({ all_boards_read: can_read, all_boards_write: can_write })
      .where(eq(organization_members.id, member));
  // The second row should not exist and must give no right, since the board belongs to another organization.
  else
    for (const board_id of [places[at], places.theirs])
      await world.db.insert(organization_board_access).values({ organization_member_id: member, board_id, can_read, can_write });
  const reads = at === "all" ? ALL_BOARDS : [at];
  return { ...caller, board: !reads.includes("home") ? "none" : can_write ? "write" : "read", reads };
}

/** Creates a person who may write to the home board, but whose active organization is another one, which the person owns. */
async function createVisitorCaller(world: World, organization_id: string, board_id: string): Promise<Caller> {
  const visitor = await world.person("visitor");
  const { token } = visitor;
  const member = await world.join(visitor, organization_id, "member");
  const write = { can_read: false, can_write: true };
  await world.db.insert(organization_board_access).values({ organization_member_id: member, board_id, ...write });
  // A created organization becomes the active one.
  const visitors = await world.call("POST", "/organizations", { token, body: { name: "Visitors" } });
  await seedSlackApp(world, visitors.body.id, "visitors");
  return {
    name: "visitor",
    options: { token },
    is: "user",
    home: false,
    visitor: true,
    role: "owner",
    board: "write",
    reads: ["home"],
  };
}
