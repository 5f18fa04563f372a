import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { LogLine } from "../support/world.ts";
import { type Actor, createPeer, type Peer, until } from "./peer.ts";
import type { ContractHost } from "./real-host.ts";
import type { Stage } from "./stage.ts";

export interface ContractOptions {
  /** Which release it is, as it says itself. */
  release: string;
  stage: () => Stage;
  start: () => Promise<ContractHost>;
  /** How long what the service does by itself may take. */
  patience_ms: number;
}

/** What every release keeps of it; the newest does not know includeReasoning. */
const HEARTBEAT = { every: "10m", target: "last" };
const KEPT = "# Mine\n\nWritten by the agent itself.\n";
const ATTENTION_MS = 500;
const SCRIBBLE = "Scribbled over.\n";

declare module "vitest" {
  interface TaskMeta {
    /** Warnings of the service during a step. */
    happened?: string[];
  }
}

const told = ({ level, event, message, error, kind }: LogLine): string[] =>
  level !== "debug" && level !== "info" && /^(jobs|gateway)\./.test(event) ? [`${event} ${kind ?? ""}: ${error ?? message}`] : [];

/**
 * What the service does with a host, from its registration to its removal. Each step builds on those before it and looks
 * at the host itself. The same steps hold for the stand-in host and for real ones.
 */
export function hostContract({ release, stage, start, patience_ms }: ContractOptions): void {
  const step = (name: string, work: () => Promise<void>) =>
    // oxlint-disable-next-line vitest/valid-title, vitest/expect-expect -- both are given with each step
    test(name, { concurrent: false, timeout: patience_ms + 60_000 }, async ({ task }) => {
      const { log } = stage().world;
      const first = log.length;
      // What the service had to put up with belongs to the result, also where it did.
      await work().finally(() => (task.meta.happened = log.slice(first).flatMap(told)));
    });
  let host: ContractHost;
  let peer: Peer;
  let owner: string;
  let organization_id: string;
  let before: Map<string, string | undefined>;
  let gateway_id: string;
  let board_id: string;
  let group_id: string;
  let cast: Record<"main" | "lead" | "ann" | "ben", Actor>;
  /** Each agent's token, as its host has it. */
  const tokens = new Map<string, string>();

  beforeAll(async () => {
    host = await start();
    const { world } = stage();
    peer = createPeer(world, host);
    ({ token: owner } = await world.person(`owner of ${release}`));
    await world.call("GET", "/api/v1/auth/bootstrap", { token: owner });
    organization_id = (await world.call("GET", "/api/v1/organizations/me", { token: owner })).body.id;
    before = await peer.roster();
  }, 180_000);
  afterAll(() => host?.close(), 30_000);

  const actors = () => Object.values(cast);
  const workers = () => [cast.ann, cast.ben];
  const settled = () => stage().settled(organization_id, patience_ms);
  const whoHas = async (token: string) =>
    (await stage().world.call("GET", "/api/v1/agent/healthz", { agent: token })).body?.agent_id;

  async function ask(method: string, path: string, body?: object, credential: object = { token: owner }) {
    const answer = await stage().world.call(method, path, { ...credential, ...(body ? { body } : {}) });
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  }

  /** Reads every agent's token from the host; each opens the API for its agent, and there is one place for it. */
  async function readTokens(): Promise<void> {
    for (const actor of actors()) {
      const [token, ...more] = await peer.tokens(actor);
      expect([await whoHas(token ?? ""), more], actor.name).toEqual([actor.id, []]);
      tokens.set(actor.id, token!);
    }
  }

  /** As agents do: whoever was woken finds its token on its host and checks in, or it would be woken again. */
  async function attend(): Promise<void> {
    const asleep = new Set(actors());
    for (const deadline = performance.now() + patience_ms; asleep.size > 0; await pause(ATTENTION_MS)) {
      if (performance.now() > deadline) throw new Error(`Never woken: ${[...asleep].map(({ name }) => name).join(", ")}`);
      for (const actor of asleep) {
        if (!(await peer.history(actor)).some(({ text }) => text.includes("begin your heartbeats"))) continue;
        const [token = ""] = await peer.tokens(actor);
        if ((await whoHas(token)) === actor.id) asleep.delete(actor);
      }
    }
  }

  /** A sync that takes long goes on after its request. */
  async function sync(query: Record<string, boolean> = {}): Promise<void> {
    const { world } = stage();
    const search = new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]));
    const answer = await world.call("POST", `/api/v1/gateways/${gateway_id}/templates/sync?${search}`, { token: owner });
    if (answer.status === 202) await settled();
    const result = answer.status === 202 ? (await ask("GET", answer.headers.get("location")!)).result : answer.body;
    expect(result).toMatchObject({ errors: [], total_synced: 4, agents_updated: 3, agents_skipped: 0, main_updated: true });
  }

  step("a gateway is registered with the version that its host tells", async () => {
    const { url, token, workspace_root } = host;
    const made = await ask("POST", "/api/v1/gateways", { name: "Rack", url, token, workspace_root });
    gateway_id = made.id;
    expect(made).toMatchObject({ connected: true, version: release, last_error: null });
    const status = await ask("GET", `/api/v1/gateway/status?gateway_id=${gateway_id}`);
    expect(status).toMatchObject({ connected: true, version: release, sessions_count: expect.any(Number) });
  });

  step("its main agent, a lead and two workers get entries, workspaces and heartbeats there", async () => {
    group_id = (await ask("POST", "/api/v1/board-groups", { name: "Group" })).id;
    const board = { name: "Site", description: "A board", gateway_id, board_group_id: group_id, max_agents: 5 };
    board_id = (await ask("POST", "/api/v1/boards", board)).id;
    const { items } = await ask("GET", `/api/v1/agents?gateway_id=${gateway_id}`);
    const add = (name: string, more = {}) => ask("POST", "/api/v1/agents", { name, board_id, ...more });
    const lead = await add("Lea", { is_board_lead: true });
    cast = { main: items[0], lead, ann: await add("Ann"), ben: await add("Ben") };
    await Promise.all([settled(), attend()]);
    const [roster, entries] = [await peer.roster(), await peer.entries()];
    for (const actor of actors()) {
      const workspace = `${host.workspace_root}/workspace-${peer.idOf(actor).replace(/^mc-gateway-/, "gateway-")}`;
      expect(roster.get(peer.idOf(actor)), actor.name).toBe(actor.name);
      expect(entries.get(peer.idOf(actor)), actor.name).toMatchObject({ workspace, heartbeat: HEARTBEAT });
      expect(await ask("GET", `/api/v1/agents/${actor.id}`)).toMatchObject({ status: "online", last_provision_error: null });
    }
    expect(roster.size).toBe(before.size + 4);
  });

  step("each agent's token stands on its host once, and opens the API", async () => {
    await readTokens();
    expect(new Set(tokens.values()).size).toBe(4);
    for (const name of ["lead", "ann", "ben"] as const)
      expect((cast[name] as Actor & { auth_token: string }).auth_token).toBe(tokens.get(cast[name].id));
  });

  step("each file's content is there, also of those that the host refuses", async () => {
    const { lead, ann, main } = cast;
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

  step("each agent is woken once, in a session that has its name", async () => {
    for (const actor of actors()) {
      expect(await peer.heard(actor, /was provisioned[^]*begin your heartbeats/), actor.name).toBe(1);
      expect(await peer.session(actor), actor.name).toMatchObject({ label: actor.name });
    }
  });

  const chat = (content: string) => ask("POST", `/api/v1/boards/${board_id}/memory`, { content, tags: ["chat"] });

  step("what is said in the board's chat arrives at a worker, a webhook's event at the lead", async () => {
    await chat("@ann please paint the fence");
    const webhook = await ask("POST", `/api/v1/boards/${board_id}/webhooks`, { description: "Sort it" });
    const posted = await stage().world.call("POST", webhook.endpoint_path, { body: { colour: "vermilion" } });
    expect(posted.status).toBe(202);
    await settled();
    expect(await peer.heard(cast.ann, /BOARD CHAT MENTION[^]*paint the fence/)).toBe(1);
    expect(await peer.heard(cast.lead, /WEBHOOK EVENT RECEIVED[^]*vermilion/)).toBe(1);
  });

  const nudge = (actor: Actor, message: string) =>
    ask("POST", `/api/v1/agent/boards/${board_id}/agents/${actor.id}/nudge`, { message }, { agent: tokens.get(cast.lead.id) });

  step("a lead's nudge arrives", async () => {
    await nudge(cast.ben, "Please look at the gate.");
    expect(await peer.heard(cast.ben, /look at the gate/)).toBe(1);
  });

  step("its main agent is told to install a skill, and to remove it", async () => {
    const source_url = "https://example.com/skills/paint";
    const { id } = await ask("POST", "/api/v1/skills/marketplace", { source_url, name: "Paint" });
    const tell = (order: string) => ask("POST", `/api/v1/skills/marketplace/${id}/${order}?gateway_id=${gateway_id}`);
    expect((await tell("install")).installed).toBe(true);
    const told = new RegExp(`SKILL INSTALL REQUEST[^]*BEGIN STRUCTURED DATA[^]*${source_url}[^]*${host.workspace_root}/skills`);
    expect(await peer.heard(cast.main, told)).toBe(1);
    expect((await tell("uninstall")).installed).toBe(false);
    expect(await peer.heard(cast.main, /SKILL UNINSTALL REQUEST[^]*BEGIN STRUCTURED DATA/)).toBe(1);
  });

  step("a sync renews files, and leaves tokens, settings and what agents keep themselves alone", async () => {
    const { ann } = cast;
    await peer.write(ann, "USER.md", KEPT);
    await peer.write(ann, "BOOTSTRAP.md", KEPT);
    await peer.write(ann, "SOUL.md", SCRIBBLE);
    const [soul, hash, known] = [await peer.file(cast.ben, "SOUL.md"), await peer.hash(), new Map(tokens)];
    await sync();
    expect(await peer.file(ann, "SOUL.md")).toBe(soul?.replaceAll("Ben", "Ann"));
    expect([await peer.file(ann, "USER.md"), await peer.file(ann, "BOOTSTRAP.md")]).toEqual([KEPT, KEPT]);
    expect(await peer.content(cast.lead, "ROLES.md")).toContain(cast.ben.id);
    expect(await peer.hash()).toBe(hash);
    await readTokens();
    expect(tokens).toEqual(known);
  });

  step("overwriting, a forced bootstrap and fresh sessions are had when asked for", async () => {
    await sync({ overwrite: true, force_bootstrap: true, reset_sessions: true });
    for (const name of ["USER.md", "BOOTSTRAP.md"]) expect(await peer.file(cast.ann, name), name).not.toBe(KEPT);
    expect(await peer.file(cast.ann, "BOOTSTRAP.md")).toContain("/api/v1/agent/heartbeat");
    for (const actor of actors())
      expect(
        (await peer.history(actor)).filter(({ role }) => role === "user"),
        actor.name,
      ).toEqual([]);
  });

  step("rotating gives each agent a new token, and ends the old one", async () => {
    const old = new Map(tokens);
    await sync({ rotate_tokens: true });
    await readTokens();
    for (const [id, token] of old) {
      expect(tokens.get(id)).not.toBe(token);
      expect(await whoHas(token)).toBeUndefined();
    }
  });

  step("a group's heartbeat reaches its workers, and only those", async () => {
    await ask("POST", `/api/v1/board-groups/${group_id}/heartbeat`, { every: "45m" });
    await settled();
    const entries = await peer.entries();
    const every = (actor: Actor) => entries.get(peer.idOf(actor))?.heartbeat;
    for (const actor of workers()) expect(every(actor), actor.name).toMatchObject({ ...HEARTBEAT, every: "45m" });
    for (const actor of [cast.main, cast.lead]) expect(every(actor), actor.name).toMatchObject(HEARTBEAT);
  });

  step("a renamed agent has its new name there, its old token and a fresh session", async () => {
    await nudge(cast.ann, "This is forgotten.");
    expect(await peer.heard(cast.ann, /forgotten/)).toBe(1);
    await ask("PATCH", `/api/v1/agents/${cast.ann.id}`, { name: "Anna" });
    await settled();
    cast.ann = { ...cast.ann, name: "Anna" };
    expect((await peer.roster()).get(peer.idOf(cast.ann))).toBe("Anna");
    expect(await peer.content(cast.ann, "IDENTITY.md")).toContain("Anna");
    expect(await peer.tokens(cast.ann)).toEqual([tokens.get(cast.ann.id)]);
    expect(await peer.heard(cast.ann, /Anna, your workspace was updated/)).toBe(1);
    expect((await peer.history(cast.ann)).filter(({ text }) => text.includes("forgotten"))).toEqual([]);
    expect(await peer.session(cast.ann)).toMatchObject({ label: "Anna" });
  });

  step("what happens while the host is away is told when it is back, once", async () => {
    await host.away(async () => {
      await chat("@ben please oil the hinges");
      await until(
        "the gateway is shown as not connected",
        async () => !(await ask("GET", `/api/v1/gateways/${gateway_id}`)).connected,
      );
    });
    await settled();
    expect(await peer.heard(cast.ben, /BOARD CHAT MENTION[^]*oil the hinges/)).toBe(1);
    expect(await ask("GET", `/api/v1/gateways/${gateway_id}`)).toMatchObject({ connected: true, last_error: null });
  });

  step("agents that are removed together leave nothing there", async () => {
    const gone = [cast.lead, ...workers()];
    await Promise.all(gone.map(({ id }) => ask("DELETE", `/api/v1/agents/${id}`)));
    for (const { id } of gone) expect(await whoHas(tokens.get(id)!)).toBeUndefined();
    await settled();
    const [roster, entries] = [await peer.roster(), await peer.entries()];
    for (const actor of gone) {
      expect([roster.has(peer.idOf(actor)), entries.has(peer.idOf(actor))], actor.name).toEqual([false, false]);
      expect(await peer.session(actor), actor.name).toBeUndefined();
    }
    expect(roster.get(peer.idOf(cast.main))).toBe(cast.main.name);
  });

  step("a gateway that is removed leaves its host as it was", async () => {
    await ask("DELETE", `/api/v1/boards/${board_id}`);
    await ask("DELETE", `/api/v1/gateways/${gateway_id}`);
    expect(await whoHas(tokens.get(cast.main.id)!)).toBeUndefined();
    await settled();
    expect([...(await peer.roster()).keys()]).toEqual([...before.keys()]);
  });
}
