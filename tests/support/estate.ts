import { createApp, type Runtime } from "@board/api/app";
import { endpoints } from "@board/api/groups";
import type { Db } from "@board/core/context";
import { agents, organization_board_access, organization_members } from "@board/core/db/schema";
import { type FakeGateway, startFakeGateway } from "@board/local/fake-gateway/server";
import { eq } from "drizzle-orm";
import { addBoard } from "./board.ts";
import { addGroup } from "./group.ts";
import { type Answer, call, type CallOptions } from "./http.ts";
import { actAs } from "./main-agent.ts";
import { skipProvisioning } from "./skip-provisioning.ts";
import { addTask } from "./task.ts";
import type { Tenant, World } from "./world.ts";

/** In every text of the home organization, and in no other. */
export const ORGANIZATION_MARK = "proprietary";
/** In every text on the home board, which not everybody in the organization may read. */
export const BOARD_MARK = "classified";

/** Somebody who calls, and what is known of the rights. */
export interface Caller {
  name: string;
  options: CallOptions;
  is: "nobody" | "user" | "agent";
  /** Of the home organization. */
  home: boolean;
  role?: "owner" | "admin" | "member";
  /** A person's right to the home board. */
  board?: "none" | "read" | "write";
  agent?: "lead" | "worker" | "main";
  /** Whether the home board is an agent's own, or of its gateway. */
  own?: boolean;
}

/** Ids by the names of their placeholders. */
export type Ids = Readonly<Record<string, string>>;

/** Two organizations; of home, something of everything there is, and everybody who may come. */
export interface Estate {
  callers: Caller[];
  /** What stands in a path, a query or a body for each placeholder: rows of the home organization. */
  known: Ids;
  /** Rows of the other organization. */
  theirs: Ids;
  /** A board of the home organization that has nothing of the home board. */
  elsewhere: string;
  /** Sends a request and undoes whatever it wrote. */
  attempt(method: string, path: string, options: CallOptions): Promise<Answer>;
  close(): Promise<void>;
}

export async function createEstate(world: World): Promise<Estate> {
  const host = await startFakeGateway({ token: "test-token-123" });
  const home = await world.tenant("home", host.url);
  const stranger = await world.tenant("stranger", host.url);
  const known = await furnish(world, home, ORGANIZATION_MARK, BOARD_MARK);
  const theirs = await furnish(world, stranger, "theirs", "their board's");
  const { board_id: elsewhere } = await addBoard(world, home, "Elsewhere");
  await addGroup(world, home, "Second group", [elsewhere]);
  const callers = await invite(world, home, stranger, elsewhere);
  await skipProvisioning(world.db);
  return { callers, known, theirs, elsewhere, attempt: undoing(world), close: () => end(host) };
}

const end = (host: FakeGateway) => host.close();

/** Something of everything, with the marks in every text. Returns the ids by the names of their placeholders. */
async function furnish(world: World, home: Tenant, ours: string, boards: string): Promise<Ids> {
  const { token } = home.owner;
  const { board_id, gateway_id } = home;
  const send = async (method: string, path: string, body?: object, more: CallOptions = { token }) => {
    const answer = await world.call(method, path, { ...more, ...(body ? { body } : {}) });
    if (![200, 202].includes(answer.status)) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  };
  const post = (path: string, body?: object, more?: CallOptions) => send("POST", path, body, more);
  const board = `/api/v1/boards/${board_id}`;
  const group = await post("/api/v1/board-groups", { name: `Group ${ours}`, description: ours });
  await send("PATCH", board, { name: `Board ${boards}`, description: boards, board_group_id: group.id });
  await send("PATCH", `/api/v1/gateways/${gateway_id}`, { name: `Host ${ours}` });
  await send("PATCH", "/api/v1/users/me", { preferred_name: ours, notes: ours });
  const webhook = await post(`${board}/webhooks`, { description: boards, secret: `${boards} ${ours}` });
  const unsigned = await post(`${board}/webhooks`, { description: boards });
  const posted = await post(unsigned.endpoint_path, { text: boards }, {});
  const tag = await post("/api/tags", { name: `Tag ${ours}`, description: ours });
  const task = await addTask(world, home, { title: `Task ${boards}`, description: boards });
  const doing = { title: `Doing ${boards}`, status: "in_progress" as const, assigned_agent_id: home.worker.id };
  await addTask(world, home, { ...doing, in_progress_at: new Date() });
  await send("PATCH", `${board}/tasks/${task.id}`, { tag_ids: [tag.id], priority: "high" });
  await post(`${board}/tasks/${task.id}/comments`, { content: boards });
  await post(`${board}/memory`, { content: boards });
  await post(`${board}/memory`, { content: boards, tags: ["chat"] });
  await post(`${board}/group-memory`, { content: ours });
  const approval = await post(`${board}/approvals`, { action_type: `Deploy ${boards}`, description: boards });
  const field = await post("/organizations/me/custom-fields", { field_key: "field", board_ids: [board_id] });
  const skill = await post("/api/skills/marketplace", { source_url: "https://example.com/skill", name: `Skill ${ours}` });
  const pack = await post("/api/skills/packs", { source_url: "https://github.com/acme/pack", name: `Pack ${ours}` });
  const invite = await post("/organizations/me/invites", { invited_email: `${ours}@example.com` });
  const later = { token, headers: { prefer: "respond-async" } };
  const sync = await post(`/api/v1/gateways/${gateway_id}/templates/sync`, undefined, later);
  const pack_sync = await post(`/api/skills/packs/${pack.id}/sync`, undefined, later);
  await post(`${board}/onboarding/start`, {});
  const named = { name: `Worker ${boards}`, soul_template: boards, identity_profile: { role: boards } };
  await world.db.update(agents).set(named).where(eq(agents.id, home.worker.id));
  const guest = await world.person("guest");
  const member_id = await world.join(guest, home.organization_id, "member");
  return {
    board_id,
    gateway_id,
    organization_id: home.organization_id,
    group_id: group.id,
    agent_id: home.worker.id,
    lead_id: home.lead.id,
    webhook_id: unsigned.id,
    signed_webhook_id: webhook.id,
    payload_id: posted.payload_id,
    tag_id: tag.id,
    task_id: task.id,
    approval_id: approval.id,
    field_id: field.id,
    skill_id: skill.id,
    pack_id: pack.id,
    invite_id: invite.id,
    member_id,
    run_id: sync.run_id,
    pack_run_id: pack_sync.run_id,
  };
}

/** Everybody who may come. */
async function invite(world: World, home: Tenant, stranger: Tenant, elsewhere: string): Promise<Caller[]> {
  const { board_id, gateway_id, organization_id } = home;
  const join = async (
    name: string,
    role: "admin" | "member",
    board: "none" | "read" | "write",
    all = false,
    at = board_id,
  ): Promise<Caller> => {
    const person = await world.person(name);
    const member = await world.join(person, organization_id, role);
    const rights = { can_read: board === "read", can_write: board === "write" };
    if (all)
      await world.db
        .update(organization_members)
        .set({ all_boards_read: rights.can_read, all_boards_write: rights.can_write })
        .where(eq(organization_members.id, member));
    else if (board !== "none")
      await world.db.insert(organization_board_access).values({ organization_member_id: member, board_id: at, ...rights });
    return { name, options: { token: person.token }, is: "user", home: true, role, board: at === board_id ? board : "none" };
  };
  const { token } = home.owner;
  const other = await world.call("POST", "/api/v1/agents", {
    token,
    body: { name: "Other", board_id: elsewhere, is_board_lead: true },
  });
  const host = { name: "Other host", url: "ws://127.0.0.1:9", workspace_root: "/srv/agents", token: "test-token-123" };
  const second = await world.call("POST", "/api/v1/gateways", { token, body: host });
  const guest = await world.person("stranger's member");
  await world.join(guest, stranger.organization_id, "member", { read: true, write: true });
  const agent = (name: string, token: string, role: Caller["agent"], at: Partial<Caller>): Caller => ({
    name,
    options: { agent: token },
    is: "agent",
    home: true,
    agent: role!,
    ...at,
  });
  const mains = [gateway_id, second.body.id, stranger.gateway_id].map((id) => actAs(world, id));
  const [main, otherMain, strangerMain] = await Promise.all(mains);
  return [
    { name: "nobody", options: {}, is: "nobody", home: false },
    { name: "an unknown person", options: { token: "x".repeat(43) }, is: "nobody", home: false },
    { name: "an unknown agent", options: { agent: "x".repeat(43) }, is: "nobody", home: false },
    { name: "owner", options: { token }, is: "user", home: true, role: "owner", board: "write" },
    await join("admin without boards", "admin", "none"),
    await join("admin with all boards", "admin", "write", true),
    await join("admin who reads all boards", "admin", "read", true),
    await join("member without boards", "member", "none"),
    await join("member who reads the board", "member", "read"),
    await join("member who writes to the board", "member", "write"),
    await join("member who reads all boards", "member", "read", true),
    await join("member who writes to another board", "member", "write", false, elsewhere),
    await join("admin who writes to another board", "admin", "write", false, elsewhere),
    agent("lead", home.lead.token, "lead", { own: true }),
    agent("worker", home.worker.token, "worker", { own: true }),
    agent("main agent", main!.token, "main", { own: true }),
    agent("main agent of another gateway", otherMain!.token, "main", { own: false }),
    agent("lead of another board", other.body.auth_token, "lead", { own: false }),
    { name: "another owner", options: { token: stranger.owner.token }, is: "user", home: false, role: "owner", board: "none" },
    { name: "another's member", options: { token: guest.token }, is: "user", home: false, role: "member", board: "none" },
    agent("another's lead", stranger.lead.token, "lead", { home: false, own: false }),
    agent("another's worker", stranger.worker.token, "worker", { home: false, own: false }),
    agent("another's main agent", strangerMain!.token, "main", { home: false, own: false }),
  ];
}

class Undone extends Error {}

/** Requests one after the other, each in a transaction that is taken back: every caller finds everything as it was. */
function undoing(world: World): Estate["attempt"] {
  let open: Db = world.db;
  const runtime: Runtime = { ...world.runtime, context: () => ({ ...world.runtime.context(), db: open }) };
  const app = createApp(runtime, endpoints);
  return async (method, path, options) => {
    let answer: Answer | undefined;
    await world.db
      .transaction(async (db) => {
        open = db;
        answer = await call((target, init) => app.request(target, init), method, path, options);
        throw new Undone();
      })
      .catch((error: unknown) => {
        if (!(error instanceof Undone)) throw error;
      });
    return answer!;
  };
}
