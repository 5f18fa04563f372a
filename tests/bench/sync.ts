import { setTimeout as pause } from "node:timers/promises";
import { hashToken, mintToken, tokenLookup } from "@board/core/agent/token";
import type { Db } from "@board/core/context/db";
import { agents, boards } from "@board/core/schema/all-tables";
import { createGateways } from "@board/openclaw/wire/websocket";
import { toKey } from "@board/core/values/seal";
import { withAgents } from "../support/fake-gateway/config.ts";
import { startFakeGateway } from "../support/fake-gateway/server.ts";
import { startLatencyProxy } from "./latency-proxy.ts";
import type { Api, BenchEnvironment } from "./environment.ts";
import { type Row, seconds } from "./row.ts";
import { KEYS } from "./service.ts";

const AGENTS = 200;
const ROUND_TRIP_MS = 20;
/** The calls for one lead: its nine files, and the calls before and after writing them. */
const CALLS_OF_AN_AGENT = 14;
const BASELINE_AGENTS = 5;
const TOKEN = "test-token-123";

interface SyncFigures {
  ms: number;
  /** The time of a second sync, which finds the host's configuration up to date. */
  again_ms: number;
  sockets: number;
  calls: number;
  patches: number;
  files_written: number;
  /** The time with one agent at a time and a socket per call. */
  baseline_ms: number;
}

interface Result {
  total_synced: number;
  total_errors: number;
  files_written: number;
}

/** Measures a sync of all files of many agents over a slow link, compared with a socket per call. */
export async function benchSync({ api, db }: BenchEnvironment): Promise<Row[]> {
  const sync = await measureSync(api, db);
  const baseline = `a socket per call, one by one: ${seconds(sync.baseline_ms)}`;
  const shape = `${sync.files_written} files, ${sync.calls} calls, ${sync.sockets} socket, ${sync.patches} config.patch`;
  const row = (what: string, figure: string, ms: number): Row => ({
    what: `${what}, ${AGENTS} leads over ${ROUND_TRIP_MS} ms`,
    figure,
    target: "2 s",
    baseline,
    ratio: `${Math.round(sync.baseline_ms / ms)}x`,
    statements: "",
  });
  return [
    row("template sync", `${seconds(sync.ms)} (${shape})`, sync.ms),
    row("the same again", seconds(sync.again_ms), sync.again_ms),
  ];
}

/** Measures a sync of 200 leads with nine files each over a link with 20 ms round trips. */
async function measureSync(api: Api, db: Db): Promise<SyncFigures> {
  const host = await startFakeGateway({ token: TOKEN, allow_insecure_control_ui: true });
  const link = await startLatencyProxy(host.port, ROUND_TRIP_MS);
  try {
    const url = `ws://127.0.0.1:${link.port}`;
    const body = { name: "Far away", url, workspace_root: "/srv/agents", token: TOKEN };
    const gateway = await api<{ id: string; organization_id: string }>("POST", "/api/v1/gateways", body);
    await seed(db, host, gateway);
    // The main agent is provisioned first.
    while (host.messages.length === 0) await pause(50);
    await pause(500);
    const path = `/api/v1/gateways/${gateway.id}/templates/sync?overwrite=true&force_bootstrap=true&include_main=false`;
    host.calls.length = 0;
    const first = await timed(() => api<Result>("POST", path));
    if (first.result.total_synced !== AGENTS || first.result.total_errors > 0) throw new Error(JSON.stringify(first.result));
    const { calls } = host;
    const figures = {
      ms: first.ms,
      sockets: new Set(calls.map(({ connection }) => connection)).size,
      calls: calls.length,
      patches: calls.filter(({ method }) => method === "config.patch").length,
      files_written: first.result.files_written,
    };
    const again = await timed(() => api<Result>("POST", path));
    return { ...figures, again_ms: again.ms, baseline_ms: ((await callOneByOne(url)) / BASELINE_AGENTS) * AGENTS };
  } finally {
    await link.close();
    await host.close();
  }
}

/** Adds a board for each lead. All leads are on the host with a token that the service knows. */
async function seed(
  db: Db,
  { host }: Awaited<ReturnType<typeof startFakeGateway>>,
  { id: gateway_id, organization_id }: { id: string; organization_id: string },
): Promise<void> {
  const agent_token_hash = await hashToken(mintToken());
  const pepper = toKey(KEYS.TOKEN_PEPPER);
  const numbers = Array.from({ length: AGENTS }, (_, n) => n);
  const made = await db
    .insert(boards)
    .values(numbers.map((n) => ({ organization_id, gateway_id, name: `Far ${n}`, slug: `far-${n}`, description: "Bench" })))
    .returning();
  const leads = made.map(({ id: board_id }) => ({ board_id, entry_id: `lead-${board_id}`, token: mintToken() }));
  await db.insert(agents).values(
    leads.map(({ board_id, entry_id, token }) => ({
      gateway_id,
      board_id,
      name: "Lead",
      is_board_lead: true,
      status: "ready" as const,
      openclaw_session_id: `agent:${entry_id}:main`,
      agent_token_hash,
      agent_token_lookup: tokenLookup(pepper, token),
    })),
  );
  const entries = leads.map(({ entry_id }) => ({ id: entry_id, name: "Lead", workspace: `/srv/agents/workspace-${entry_id}` }));
  host.config.write(withAgents(host.config.file(), host.dialect, [{ id: "main" }, ...entries]));
  for (const { entry_id, token } of leads)
    host.files.set(
      `/srv/agents/workspace-${entry_id}`,
      new Map([["TOOLS.md", { content: `AUTH_TOKEN=${token}`, updatedAtMs: 0 }]]),
    );
}

/** Makes the calls of some agents sequentially, each over a separate socket. */
async function callOneByOne(url: string): Promise<number> {
  const target = { url, token: TOKEN, disable_device_pairing: true, allow_insecure_tls: false };
  const one = () =>
    createGateways({
      device: () => Promise.reject(new Error("No device is needed")),
      settings: { allowed_hosts: ["127.0.0.0/8"], private_addresses_allowed: true },
    });
  const closing: Promise<void>[] = [];
  const { ms } = await timed(async () => {
    for (let n = 0; n < BASELINE_AGENTS * CALLS_OF_AN_AGENT; n++) {
      const gateways = one();
      await gateways.request(target, "agents.files.list", { agentId: "main" });
      closing.push(gateways.close());
    }
  });
  await Promise.all(closing);
  return ms;
}

async function timed<T>(work: () => Promise<T>): Promise<{ ms: number; result: T }> {
  const start = performance.now();
  const result = await work();
  return { ms: performance.now() - start, result };
}
