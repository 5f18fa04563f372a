import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { transaction } from "@board/core/context/context";
import { enqueue } from "@board/core/job/job";
import type { LogLine } from "../../support/world.ts";
import { type Actor, createHostInspector, type HostInspector, waitUntil } from "./host-inspector.ts";
import { expectNoOrders } from "./orders.ts";
import type { ContractHost } from "./real-host.ts";
import type { RunningService } from "../../support/running-service.ts";

export interface ContractOptions {
  /** The release that the host reports. */
  release: string;
  stage: () => RunningService;
  start: () => Promise<ContractHost>;
  /** How long background work of the service may take. */
  timeout_ms: number;
  /** How often an agent may be woken. Slow hosts need more than once, because an agent without a check-in is woken again. */
  max_wakes: number;
}

/** Returns settings that every release keeps. The newest release has no includeReasoning, and skips heartbeats without a route. */
const heartbeatOf = (release: string) => ({ every: "10m", target: release === "2026.9.6" ? "none" : "last" });
const AGENT_TEXT = "# Mine\n\nWritten by the agent itself.\n";
const ATTENTION_MS = 500;
/** Additional time for each step, because a step may stop the host and start it again. */
const START_ALLOWANCE_MS = 300_000;
const OVERWRITTEN = "Scribbled over.\n";

declare module "vitest" {
  interface TaskMeta {
    /** Warnings and errors of the service during a step. */
    warnings?: string[];
  }
}

const warningsOf = ({ level, event, message, error, kind }: LogLine): string[] =>
  level !== "debug" && level !== "info" && /^(jobs|gateway)\./.test(event) ? [`${event} ${kind ?? ""}: ${error ?? message}`] : [];

/**
 * Tests everything the service does with a host, from its registration to its removal. Each step builds on the previous
 * ones and inspects the host. The same steps run against the fake host and against real ones.
 */
export function hostContract({ release, stage, start, timeout_ms, max_wakes }: ContractOptions): void {
  const step = (name: string, work: () => Promise<void>) =>
    // oxlint-disable-next-line vitest/valid-title, vitest/expect-expect -- each step has both
    test(name, { concurrent: false, timeout: timeout_ms + START_ALLOWANCE_MS }, async ({ task }) => {
      const { log } = stage().world;
      const first = log.length;
      // Warnings are part of the result, even if the step passes.
      await work().finally(() => (task.meta.warnings = log.slice(first).flatMap(warningsOf)));
    });
  let host: ContractHost;
  let peer: HostInspector;
  let owner: string;
  let organization_id: string;
  let before: Map<string, string | undefined>;
  let gateway_id: string;
  let board_id: string;
  let group_id: string;
  let agents: Record<"main" | "lead" | "ann" | "ben", Actor>;
  /** The token of each agent on its host. */
  const tokens = new Map<string, string>();

  beforeAll(async () => {
    host = await start();
    const { world } = stage();
    peer = createHostInspector(world, host);
    ({ token: owner } = await world.person(`owner of ${release}`));
    await world.call("GET", "/api/v1/auth/bootstrap", { token: owner });
    organization_id = (await world.call("GET", "/api/v1/organizations/me", { token: owner })).body.id;
    before = await peer.roster();
  }, START_ALLOWANCE_MS);
  afterAll(() => host?.close(), 30_000);

  const actors = () => Object.values(agents);
  const workers = () => [agents.ann, agents.ben];
  const waitForJobs = () => stage().waitForJobs(organization_id, timeout_ms);
  const findAgentIdByToken = async (token: string) =>
    (await stage().world.call("GET", "/api/v1/agent/healthz", { agent: token })).body?.agent_id;

  async function ask(method: string, path: string, body?: object, credential: object = { token: owner }) {
    const answer = await stage().world.call(method, path, { ...credential, ...(body ? { body } : {}) });
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  }

  /** Reads every agent's token from the host. Each must be valid and stored in one place only. */
  async function readTokens(): Promise<void> {
    for (const actor of actors()) {
      const [token, ...more] = await peer.tokens(actor);
      expect([await findAgentIdByToken(token ?? ""), more], actor.name).toEqual([actor.id, []]);
      tokens.set(actor.id, token!);
    }
  }

  /** Sends heartbeats for woken agents with the tokens from their host; otherwise they would be woken again. */
  async function checkInAgents(): Promise<void> {
    const asleep = new Set(actors());
    for (const deadline = performance.now() + timeout_ms; asleep.size > 0; await pause(ATTENTION_MS)) {
      if (performance.now() > deadline) throw new Error(`Never woken: ${[...asleep].map(({ name }) => name).join(", ")}`);
      for (const actor of asleep) {
        if (!(await peer.history(actor)).some(({ text }) => text.includes("begin your heartbeats"))) continue;
        const [token = ""] = await peer.tokens(actor);
        if ((await findAgentIdByToken(token)) === actor.id) asleep.delete(actor);
      }
    }
  }

  /** Runs a sync and waits for its result, since a long sync continues after its request. */
  async function sync(query: Record<string, boolean> = {}): Promise<void> {
    const { world } = stage();
    const search = new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]));
    const answer = await world.call("POST", `/api/v1/gateways/${gateway_id}/templates/sync?${search}`, { token: owner });
    if (answer.status === 202) await waitForJobs();
    const result = answer.status === 202 ? (await ask("GET", answer.headers.get("location")!)).result : answer.body;
    expect(result).toMatchObject({ errors: [], total_synced: 4, agents_updated: 3, agents_skipped: 0, main_updated: true });
  }

  step("a gateway is registered with the version that its host reports", async () => {
    const { url, token, workspace_root } = host;
    const made = await ask("POST", "/api/v1/gateways", { name: "Rack", url, token, workspace_root });
    gateway_id = made.id;
    expect(made).toMatchObject({ connected: true, version: release, last_error: null });
    const status = await ask("GET", `/api/v1/gateway/status?gateway_id=${gateway_id}`);
    expect(status).toMatchObject({ connected: true, version: release, sessions_count: expect.any(Number) });
  });

  step("the main agent, a lead and two workers get entries, workspaces and heartbeats on the host", async () => {
    group_id = (await ask("POST", "/api/v1/board-groups", { name: "Group" })).id;
    const board = { name: "Site", description: "A board", gateway_id, board_group_id: group_id, max_agents: 5 };
    board_id = (await ask("POST", "/api/v1/boards", board)).id;
    const { items } = await ask("GET", `/api/v1/agents?gateway_id=${gateway_id}`);
    const add = (name: string, more = {}) => ask("POST", "/api/v1/agents", { name, board_id, ...more });
    const lead = await add("Lea", { is_board_lead: true });
    agents = { main: items[0], lead, ann: await add("Ann"), ben: await add("Ben") };
    await Promise.all([waitForJobs(), checkInAgents()]);
    const [roster, entries] = [await peer.roster(), await peer.entries()];
    for (const actor of actors()) {
      const workspace = `${host.workspace_root}/workspace-${peer.idOf(actor).replace(/^mc-gateway-/, "gateway-")}`;
      expect(roster.get(peer.idOf(actor)), actor.name).toBe(actor.name);
      expect(entries.get(peer.idOf(actor)), actor.name).toMatchObject({ workspace, heartbeat: heartbeatOf(release) });
      expect(await ask("GET", `/api/v1/agents/${actor.id}`)).toMatchObject({ status: "online", last_provision_error: null });
    }
    expect(roster.size).toBe(before.size + 4);
  });

  step("each agent's token is stored once on the host and is valid", async () => {
    await readTokens();
    expect(new Set(tokens.values()).size).toBe(4);
    for (const name of ["lead", "ann", "ben"] as const)
      expect((agents[name] as Actor & { auth_token: string }).auth_token).toBe(tokens.get(agents[name].id));
  });

  step("the content of every agent file is on the host, also of files that the host refuses", async () => {
    const { lead, ann, main } = agents;
    for (const name of ["SOUL.md", "USER.md", "MEMORY.md", "HEARTBEAT.md", "AGENTS.md"])
      expect(await peer.content(lead, name), name).not.toBe("");
    expect(await peer.content(lead, "ROLES.md")).toContain(lead.id);
    expect(await peer.content(lead, "BOOTSTRAP.md")).toContain("/api/v1/agent/heartbeat");
    expect(await peer.content(ann, "HEARTBEAT.md")).toContain("HEARTBEAT_OK");
    for (const actor of [lead, ann, main]) {
      expect(await peer.content(actor, "IDENTITY.md")).toContain(actor.id);
      expect(await peer.content(actor, "TOOLS.md")).toContain(`\nAGENT_ID=${actor.id}\n`);
    }
  });

  step("each agent is woken in a session labelled with its name", async () => {
    for (const actor of actors()) {
      const wakes = await peer.heard(actor, /was provisioned[^]*begin your heartbeats/);
      expect(wakes, actor.name).toBeGreaterThanOrEqual(1);
      expect(wakes, actor.name).toBeLessThanOrEqual(max_wakes);
      expect(await peer.session(actor), actor.name).toMatchObject({ label: actor.name });
    }
  });

  const chat = (content: string) => ask("POST", `/api/v1/boards/${board_id}/memory`, { content, tags: ["chat"] });

  step("a chat message reaches a worker, and a webhook's event reaches the lead", async () => {
    await chat("@ann please paint the fence");
    const webhook = await ask("POST", `/api/v1/boards/${board_id}/webhooks`, { description: "Sort it" });
    const posted = await stage().world.call("POST", webhook.endpoint_path, { body: { colour: "vermilion" } });
    expect(posted.status).toBe(202);
    await waitForJobs();
    expect(await peer.heard(agents.ann, /BOARD CHAT MENTION[^]*paint the fence/)).toBe(1);
    expect(await peer.heard(agents.lead, /WEBHOOK EVENT RECEIVED[^]*vermilion/)).toBe(1);
  });

  const nudge = (actor: Actor, message: string) =>
    ask("POST", `/api/v1/agent/boards/${board_id}/agents/${actor.id}/nudge`, { message }, { agent: tokens.get(agents.lead.id) });

  step("a lead's nudge reaches its agent", async () => {
    await nudge(agents.ben, "Please look at the gate.");
    expect(await peer.heard(agents.ben, /look at the gate/)).toBe(1);
  });

  step("text of others gives the host no order and reaches the agents whole", async () => {
    const { endpoint_path } = await ask("POST", `/api/v1/boards/${board_id}/webhooks`, { description: "Read it" });
    const post = (body: object) => stage().world.call("POST", endpoint_path, { body });
    await expectNoOrders({ peer, agents, post, chat, nudge, waitForJobs });
  });

  step("the main agent gets the requests to install and to remove a skill", async () => {
    const source_url = "https://example.com/skills/paint";
    const { id } = await ask("POST", "/api/v1/skills/marketplace", { source_url, name: "Paint" });
    const requestSkill = (order: string) => ask("POST", `/api/v1/skills/marketplace/${id}/${order}?gateway_id=${gateway_id}`);
    expect((await requestSkill("install")).installed).toBe(true);
    const expected = new RegExp(
      `SKILL INSTALL REQUEST[^]*BEGIN STRUCTURED DATA[^]*${source_url}[^]*${host.workspace_root}/skills`,
    );
    expect(await peer.heard(agents.main, expected)).toBe(1);
    expect((await requestSkill("uninstall")).installed).toBe(false);
    expect(await peer.heard(agents.main, /SKILL UNINSTALL REQUEST[^]*BEGIN STRUCTURED DATA/)).toBe(1);
  });

  step("a sync renews files and keeps tokens, settings and the agents' own files", async () => {
    const { ann } = agents;
    await peer.write(ann, "USER.md", AGENT_TEXT);
    await peer.write(ann, "BOOTSTRAP.md", AGENT_TEXT);
    await peer.write(ann, "SOUL.md", OVERWRITTEN);
    const [soul, hash, known] = [await peer.file(agents.ben, "SOUL.md"), await peer.hash(), new Map(tokens)];
    await sync();
    expect(await peer.file(ann, "SOUL.md")).toBe(soul?.replaceAll("Ben", "Ann"));
    expect([await peer.file(ann, "USER.md"), await peer.file(ann, "BOOTSTRAP.md")]).toEqual([AGENT_TEXT, AGENT_TEXT]);
    expect(await peer.content(agents.lead, "ROLES.md")).toContain(agents.ben.id);
    expect(await peer.hash()).toBe(hash);
    await readTokens();
    expect(tokens).toEqual(known);
  });

  step("a sync can overwrite files, force a bootstrap and reset sessions", async () => {
    await sync({ overwrite: true, force_bootstrap: true, reset_sessions: true });
    for (const name of ["USER.md", "BOOTSTRAP.md"]) expect(await peer.file(agents.ann, name), name).not.toBe(AGENT_TEXT);
    expect(await peer.file(agents.ann, "BOOTSTRAP.md")).toContain("/api/v1/agent/heartbeat");
    for (const actor of actors())
      expect(
        (await peer.history(actor)).filter(({ role }) => role === "user"),
        actor.name,
      ).toEqual([]);
  });

  step("rotating tokens gives each agent a new token and revokes the old one", async () => {
    const old = new Map(tokens);
    await sync({ rotate_tokens: true });
    await readTokens();
    for (const [id, token] of old) {
      expect(tokens.get(id)).not.toBe(token);
      expect(await findAgentIdByToken(token)).toBeUndefined();
    }
  });

  step("a group's heartbeat is applied to its workers only", async () => {
    await ask("POST", `/api/v1/board-groups/${group_id}/heartbeat`, { every: "45m" });
    await waitForJobs();
    const entries = await peer.entries();
    const every = (actor: Actor) => entries.get(peer.idOf(actor))?.heartbeat;
    for (const actor of workers()) expect(every(actor), actor.name).toMatchObject({ ...heartbeatOf(release), every: "45m" });
    for (const actor of [agents.main, agents.lead]) expect(every(actor), actor.name).toMatchObject(heartbeatOf(release));
  });

  step("a renamed agent has its new name on the host, its old token and a new session", async () => {
    await nudge(agents.ann, "This is forgotten.");
    expect(await peer.heard(agents.ann, /forgotten/)).toBe(1);
    await ask("PATCH", `/api/v1/agents/${agents.ann.id}`, { name: "Anna" });
    await waitForJobs();
    agents.ann = { ...agents.ann, name: "Anna" };
    expect((await peer.roster()).get(peer.idOf(agents.ann))).toBe("Anna");
    expect(await peer.content(agents.ann, "IDENTITY.md")).toContain("Anna");
    expect(await peer.tokens(agents.ann)).toEqual([tokens.get(agents.ann.id)]);
    expect(await peer.heard(agents.ann, /Anna, your workspace was updated/)).toBe(1);
    expect((await peer.history(agents.ann)).filter(({ text }) => text.includes("forgotten"))).toEqual([]);
    expect(await peer.session(agents.ann)).toMatchObject({ label: "Anna" });
  });

  step("events during an outage of the host are delivered once after it", async () => {
    await host.whileDown(async () => {
      await chat("@ben please oil the hinges");
      await waitUntil(
        "the gateway is shown as disconnected",
        async () => !(await ask("GET", `/api/v1/gateways/${gateway_id}`)).connected,
      );
    });
    await waitForJobs();
    expect(await peer.heard(agents.ben, /BOARD CHAT MENTION[^]*oil the hinges/)).toBe(1);
    expect(await ask("GET", `/api/v1/gateways/${gateway_id}`)).toMatchObject({ connected: true, last_error: null });
  });

  step("what the host tells about the sessions of agents is booked once", async () => {
    const { world } = stage();
    for (const worker of workers()) await peer.counted(worker);
    const readUsage = async () => {
      for (const { id: agent_id } of workers())
        await transaction(world.context(), (ctx) =>
          enqueue(ctx, "agent.read_usage", { agent_id }, { organization_id, gateway_id }),
        );
      await waitForJobs();
      const { rows } = await ask("GET", "/api/v1/metrics/usage?group_by=agent");
      return workers().map(({ id }) => rows.find(({ key }: { key: string }) => key === id));
    };
    const first = await readUsage();
    for (const { idle, reported, name } of first) {
      expect([reported, idle.cost_usd], name).toEqual([true, null]);
      expect(Math.min(idle.input_tokens, idle.output_tokens), name).toBeGreaterThan(0);
    }
    expect(await readUsage()).toEqual(first);
  });

  step("agents that are deleted together leave nothing on the host", async () => {
    const deleted = [agents.lead, ...workers()];
    await Promise.all(deleted.map(({ id }) => ask("DELETE", `/api/v1/agents/${id}`)));
    for (const { id } of deleted) expect(await findAgentIdByToken(tokens.get(id)!)).toBeUndefined();
    await waitForJobs();
    const [roster, entries] = [await peer.roster(), await peer.entries()];
    for (const actor of deleted) {
      expect([roster.has(peer.idOf(actor)), entries.has(peer.idOf(actor))], actor.name).toEqual([false, false]);
      expect(await peer.session(actor), actor.name).toBeUndefined();
    }
    expect(roster.get(peer.idOf(agents.main))).toBe(agents.main.name);
  });

  step("deleting a gateway restores its host", async () => {
    await ask("DELETE", `/api/v1/boards/${board_id}`);
    await ask("DELETE", `/api/v1/gateways/${gateway_id}`);
    expect(await findAgentIdByToken(tokens.get(agents.main.id)!)).toBeUndefined();
    await waitForJobs();
    expect([...(await peer.roster()).keys()]).toEqual([...before.keys()]);
  });
}
