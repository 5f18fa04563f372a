import { type FakeGateway, startFakeGateway } from "../support/fake-gateway/server.ts";
import { afterEach, expect, test, vi } from "vitest";
import { startLocalService as start } from "../support/local-service.ts";
import { cleanUpPrograms, dataFolder } from "../support/program.ts";

const TOKEN = "gateway-token-0815";
let host: FakeGateway;
afterEach(async () => {
  await cleanUpPrograms();
  await host.close();
});

const tokenOf = (workspace: string) =>
  /^AUTH_TOKEN=(.*)$/m.exec(host.host.files.get(workspace)?.get("TOOLS.md")?.content ?? "")?.[1] ?? "";

test.each([
  { moment: "while tokens are being written", method: "agents.files.set" },
  { moment: "while sessions are reset", method: "sessions.reset" },
])("kill -9 $moment: the next start ends the sync, and no agent is locked out", async ({ method }) => {
  host = await startFakeGateway({ token: TOKEN, dialect: "2026.9.6" });
  // Unlike real hosts of 2026.9.6, this one accepts TOOLS.md, so the token is in a separate file. Like them, it never restarts.
  host.host.dialect = { ...host.host.dialect, accepted_files: [...host.host.dialect.accepted_files, "TOOLS.md"] };
  const folder = dataFolder();
  let server = await start(folder);
  const create = async (at: string, body: object) => (await server.call("POST", at, { body })).body;
  const gateway = await create("/api/v1/gateways", { name: "Host", url: host.url, token: TOKEN, workspace_root: "/srv/agents" });
  const board = await create("/api/v1/boards", { name: "Shop", description: "A shop", gateway_id: gateway.id });
  await create("/api/v1/agents", { name: "Lead", board_id: board.id, is_board_lead: true });
  const workspaces = [`/srv/agents/workspace-lead-${board.id}`, `/srv/agents/workspace-gateway-${gateway.id}`];
  await vi.waitUntil(() => new Set(host.messages.map(({ session_key }) => session_key)).size === 2, { timeout: 60_000 });
  const before = workspaces.map(tokenOf);

  host.faults.delays_ms = { [method]: Number.POSITIVE_INFINITY };
  host.calls.length = 0;
  const path = `/api/v1/gateways/${gateway.id}/templates/sync?rotate_tokens=true&reset_sessions=true`;
  const unanswered = server.call("POST", path).catch((error: Error) => error);
  await vi.waitUntil(() => host.calls.some((one) => one.method === method), { timeout: 20_000 });
  await server.stop("SIGKILL");
  expect(await unanswered).toBeInstanceOf(Error);

  host.faults.delays_ms = {};
  host.calls.length = 0;
  server = await start(folder);
  await vi.waitUntil(() => host.calls.filter((one) => one.method === "sessions.reset").length === 2, { timeout: 90_000 });
  const after = workspaces.map(tokenOf);
  for (const [index, token] of after.entries()) {
    expect(token).not.toBe(before[index]);
    expect((await server.call("GET", "/api/v1/agent/healthz", { agent: token })).status).toBe(200);
    expect((await server.call("GET", "/api/v1/agent/healthz", { agent: before[index]! })).status).toBe(401);
  }
});
