import type { Admin } from "@board/core/context/actor";
import { mintToken, tokenLookup } from "@board/core/agent/token";
import { hostAgentId, workspacePath } from "@board/core/values/session-key";
import type { Context } from "@board/core/context/context";
import { agents, gateways, jobs, organization_members, sync_run_agents, sync_runs } from "@board/core/schema/all-tables";
import type { JobKind } from "@board/core/job/kinds";
import { and, asc, eq, inArray, isNull } from "drizzle-orm";
import { onTestFinished } from "vitest";
import { agentsOf, withAgents } from "./fake-gateway/config.ts";
import type { DialectName } from "./fake-gateway/dialect.ts";
import { type FakeGateway, startFakeGateway } from "./fake-gateway/server.ts";
import type { Answer } from "./http.ts";
import type { Tenant, World } from "./world.ts";

/** An agent in tests of syncs. */
export interface SyncAgent {
  id: string;
  name: string;
  token: string;
  session_key: string;
  entry_id: string;
  workspace: string;
}

export interface SyncFixture {
  fake: FakeGateway;
  home: Tenant;
  lead: SyncAgent;
  worker: SyncAgent;
  main: SyncAgent;
  sync: (query?: string, options?: { headers?: Record<string, string> }) => Promise<Answer>;
  run: (run_id: string) => Promise<Answer>;
  file: (agent: Pick<SyncAgent, "workspace">, name: string) => string | null;
  write: (agent: SyncAgent, name: string, content: string) => void;
  tokenOnHost: (agent: Pick<SyncAgent, "workspace">) => string | null;
  calls: (method: string) => { params: never; connection: number; at: number }[];
  /** The written files as `agent/name`, in order. */
  written: (agent?: SyncAgent) => string[];
  row: (agent: SyncAgent) => Promise<typeof agents.$inferSelect>;
  /** Adds an agent to the host, with its token in TOOLS.md. */
  install: (...list: SyncAgent[]) => void;
  remove: (agent: SyncAgent) => void;
  addAgent: (board_id: string, name: string, is_board_lead?: boolean) => Promise<SyncAgent>;
  addBoard: (name: string) => Promise<string>;
}

const TIMINGS = { restart_delay: 50, downtime: 50, starting: 20 };
let tenants = 0;

/** Creates a host and a tenant whose lead, worker and main agent are provisioned on it. */
export async function createSyncFixture(world: World, dialect: DialectName): Promise<SyncFixture> {
  const fake = await startFakeGateway({ token: "test-token-123", dialect, timings: TIMINGS });
  const home = await world.tenant(`sync ${dialect} ${++tenants}`, fake.url);
  const toSubject = (row: { id: string; name: string; openclaw_session_id: string | null }, token: string): SyncAgent => {
    const entry_id = hostAgentId(row.openclaw_session_id!);
    const workspace = workspacePath("/srv/agents", entry_id);
    return { id: row.id, name: row.name, token, session_key: row.openclaw_session_id!, entry_id, workspace };
  };
  const rows = async (id: string) => (await world.db.select().from(agents).where(eq(agents.id, id)))[0]!;
  const main_token = mintToken();
  const [main_row] = await world.db
    .update(agents)
    .set({ agent_token_lookup: tokenLookup(world.settings.token_pepper, main_token) })
    .where(and(eq(agents.gateway_id, home.gateway_id), isNull(agents.board_id)))
    .returning();
  const dropJobs = () => world.db.delete(jobs).where(eq(jobs.organization_id, home.organization_id));
  await dropJobs();
  const subject = async (agent: { id: string; token: string }) => toSubject(await rows(agent.id), agent.token);
  const { token } = home.owner;
  const base = `/api/v1/gateways/${home.gateway_id}/templates/sync`;
  const paramsOf = (method: string) => fake.calls.filter((call) => call.method === method);
  const fixture: SyncFixture = {
    fake,
    home,
    lead: await subject(home.lead),
    worker: await subject(home.worker),
    main: toSubject(main_row!, main_token),
    sync: (query = "", options = {}) => world.call("POST", query ? `${base}?${query}` : base, { token, ...options }),
    run: (run_id) => world.call("GET", `${base}/${run_id}`, { token }),
    file: ({ workspace }, name) => fake.host.files.get(workspace)?.get(name)?.content ?? null,
    write({ workspace }, name, content) {
      fake.host.files.get(workspace)!.set(name, { content, updatedAtMs: Date.now() });
    },
    tokenOnHost: (agent) => {
      const content = fixture.file(agent, "TOOLS.md") ?? fixture.file(agent, "AGENTS.md") ?? "";
      return /^AUTH_TOKEN=(.*)$/m.exec(content)?.[1] ?? null;
    },
    calls: (method) => paramsOf(method) as never,
    written: (agent) =>
      paramsOf("agents.files.set")
        .map(({ params }) => params as { agentId: string; name: string })
        .filter(({ agentId }) => !agent || agentId === agent.entry_id)
        .map(({ agentId, name }) => (agent ? name : `${agentId}/${name}`)),
    row: ({ id }) => rows(id),
    install(...list) {
      const { host } = fake;
      const file = host.config.file();
      const unlisted = agentsOf(file, host.dialect).filter(({ id }) => !list.some(({ entry_id }) => entry_id === id));
      const added = list.map(({ entry_id, name, workspace }) => ({ id: entry_id, name, workspace }));
      host.config.write(withAgents(file, host.dialect, [...unlisted, ...added]));
      host.config.reload();
      for (const agent of list) {
        const tools = `AUTH_TOKEN=${agent.token}\n`;
        const files = host.dialect.accepted_files.includes("TOOLS.md")
          ? { "TOOLS.md": tools }
          : { "AGENTS.md": `<!-- file: TOOLS.md -->\n${tools}` };
        host.files.set(
          agent.workspace,
          new Map(Object.entries(files).map(([name, content]) => [name, { content, updatedAtMs: 1 }])),
        );
      }
    },
    remove({ entry_id, workspace }) {
      const { host } = fake;
      const file = host.config.file();
      host.config.write(
        withAgents(
          file,
          host.dialect,
          agentsOf(file, host.dialect).filter(({ id }) => id !== entry_id),
        ),
      );
      host.config.reload();
      host.files.delete(workspace);
    },
    async addAgent(board_id, name, is_board_lead = false) {
      const created = (await world.call("POST", "/api/v1/agents", { token, body: { name, board_id, is_board_lead } })).body;
      await dropJobs();
      const agent = toSubject(created, created.auth_token);
      fixture.install(agent);
      return agent;
    },
    async addBoard(name) {
      const body = { name, description: name, gateway_id: home.gateway_id, max_agents: 5 };
      return (await world.call("POST", "/api/v1/boards", { token, body })).body.id;
    },
  };
  fixture.install(fixture.lead, fixture.worker, fixture.main);
  fake.calls.length = 0;
  return fixture;
}

/** Creates a fixture without a limit on config writes and closes it after the test. */
export async function startSyncFixture(world: World, dialect: DialectName = "2026.5.7"): Promise<SyncFixture> {
  const fixture = await createSyncFixture(world, dialect);
  onTestFinished(() => fixture.fake.close());
  fixture.fake.faults.patch_limit = null;
  return fixture;
}

/** Returns the owner's context, for direct calls of core functions. */
export async function ownerContext(world: World, { organization_id }: Tenant): Promise<Context<Admin>> {
  const [member] = await world.db
    .select()
    .from(organization_members)
    .where(and(eq(organization_members.organization_id, organization_id), eq(organization_members.role, "owner")));
  const { id: member_id, user_id, all_boards_read, all_boards_write } = member!;
  const active = { member_id, organization_id, role: "owner" as const, all_boards_read, all_boards_write };
  return { ...world.context(), actor: { type: "user", user_id, display_name: "Owner", active } };
}

/** Returns the jobs of the fixture's organization in order, optionally only of some kinds. */
export const jobsOf = (world: World, { home }: SyncFixture, ...kinds: JobKind[]) =>
  world.db
    .select()
    .from(jobs)
    .where(and(eq(jobs.organization_id, home.organization_id), kinds.length > 0 ? inArray(jobs.kind, kinds) : undefined))
    .orderBy(jobs.seq);
export const listRuns = (world: World, gateway_id: string) =>
  world.db.select().from(sync_runs).where(eq(sync_runs.gateway_id, gateway_id)).orderBy(asc(sync_runs.created_at));
export const listRunAgents = (world: World, run_id: string) =>
  world.db.select().from(sync_run_agents).where(eq(sync_run_agents.run_id, run_id)).orderBy(asc(sync_run_agents.position));
export const getGatewayRow = async (world: World, id: string) =>
  (await world.db.select().from(gateways).where(eq(gateways.id, id)))[0]!;
