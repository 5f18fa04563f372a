import type { Lead } from "@board/core/context/actor";
import { withInteractiveHost, INTERACTIVE_TIMEOUT_MS } from "@board/openclaw/gateway/interactive-call";
import { nudgeAgent } from "@board/openclaw/coordination/nudge";
import { agents, gateways } from "@board/core/schema/all-tables";
import { GatewayError } from "@board/openclaw/wire/gateway-error";
import { groups } from "@board/functions/manifest";
import { eq } from "drizzle-orm";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { listEvents } from "../support/activity.ts";
import { renew, setup, setupWorld } from "../support/fixtures.ts";
import { startFakeGateway } from "../support/fake-gateway/server.ts";
import { createDeferredHost } from "../support/deferred-host.ts";
import { type CallOptions, statusAndBody } from "../support/http.ts";

const world = await setupWorld();
const host = await setup(
  startFakeGateway({ token: "test-token-123", timings: { restart_delay: 50, downtime: 50, starting: 20 } }),
);

const home = renew((n) => world.tenant(`home ${n}`, host.url));
beforeEach(async () => {
  host.messages.length = 0;
  host.calls.length = 0;
});

const nudge = (message: unknown = "Look", id = home.worker.id, as: CallOptions = { agent: home.lead.token }) =>
  world.call("POST", `/api/v1/agent/boards/${home.board_id}/agents/${id}/nudge`, { ...as, body: { message } });
const events = async () => listEvents(world, { organization_id: home.organization_id, event_type: "agent.nudge.%" });
const sends = () =>
  host.calls.filter(({ method }) => method === "chat.send").map(({ params }) => params as { idempotencyKey: string });
const gatewayRow = async () => (await world.db.select().from(gateways).where(eq(gateways.id, home.gateway_id)))[0]!;

test("the text of a nudge is sent unchanged, and is also delivered to the agent's own channel", async () => {
  const message = "Look at {{ auth_token }}\n`AUTH_TOKEN`, now.";
  expect(statusAndBody(await nudge(` ${message}\n`))).toEqual([200, { ok: true }]);
  expect(host.calls.filter(({ method }) => method !== "connect").map(({ method, params }) => [method, params])).toEqual([
    ["sessions.patch", { key: home.worker.session_key, label: "Worker" }],
    [
      "chat.send",
      { sessionKey: home.worker.session_key, message, deliver: true, idempotencyKey: expect.stringMatching(/^coordination-/) },
    ],
  ]);
  const about = { board_id: home.board_id, agent_id: home.lead.id, user_id: null };
  expect(await events()).toMatchObject([{ event_type: "agent.nudge.sent", message: "Nudge to Worker sent.", ...about }]);
});

test("every nudge is a separate message, even with the same text", async () => {
  await nudge();
  await nudge();
  expect(host.messages.map(({ message }) => message)).toEqual(["Look", "Look"]);
});

test.each([
  ["is busy", () => host.failNext("chat.send", { code: "UNAVAILABLE", message: "starting" })],
  ["restarts instead of answering", () => (host.faults.lost_responses["chat.send"] = 1)],
])("a host that %s is retried, and the text arrives once", async (_what, disturb) => {
  disturb();
  expect(statusAndBody(await nudge())).toEqual([200, { ok: true }]);
  expect(host.messages.map(({ message }) => message)).toEqual(["Look"]);
  expect(sends()).toHaveLength(2);
  expect(new Set(sends().map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
  expect((await events()).map(({ event_type }) => event_type)).toEqual(["agent.nudge.sent"]);
});

test("a nudge that the host refuses is answered with the host's text, and recorded", async () => {
  host.failNext("chat.send", { message: "session\u0007 is\nlocked" });
  expect(statusAndBody(await nudge())).toEqual([502, { detail: "Gateway nudge failed: session is locked" }]);
  expect(host.messages).toEqual([]);
  expect(await events()).toMatchObject([
    { event_type: "agent.nudge.failed", message: "Nudge to Worker failed: session is locked", agent_id: home.lead.id },
  ]);
  expect(await gatewayRow()).toMatchObject({ connected: true });
});

test("if a host refuses the credentials, the error does not contain the token, and the gateway is shown as not connected", async () => {
  const other = await startFakeGateway({ token: "another-token" });
  onTestFinished(() => other.close());
  await world.db.update(gateways).set({ url: other.url }).where(eq(gateways.id, home.gateway_id));
  const answer = await nudge();
  expect([answer.status, answer.body.detail]).toEqual([
    502,
    expect.stringMatching(/^Gateway nudge failed: Gateway authentication/),
  ]);
  expect(answer.text).not.toContain("test-token-123");
  expect(await gatewayRow()).toMatchObject({ connected: false });
});

test("an agent without a session or a gateway without an address cannot be nudged", async () => {
  await world.db.update(agents).set({ openclaw_session_id: null }).where(eq(agents.id, home.worker.id));
  expect(statusAndBody(await nudge())).toEqual([422, { detail: "Target agent has no session" }]);
  await world.db.update(gateways).set({ url: "\t" }).where(eq(gateways.id, home.gateway_id));
  expect(statusAndBody(await nudge("Look", home.lead.id))).toEqual([422, { detail: "Gateway url is required" }]);
  expect([host.calls, await events()]).toEqual([[], []]);
});

test("a nudge needs a text", async () => {
  for (const message of [" ", null, 5]) expect((await nudge(message)).body.detail).toMatchObject([{ loc: ["body", "message"] }]);
  expect(host.messages).toEqual([]);
});

test("no transaction is open while a nudge waits for the host: even with one connection, other requests continue", async () => {
  const held = createDeferredHost();
  const actor: Lead = {
    type: "agent",
    agent_id: home.lead.id,
    name: "Lead",
    organization_id: home.organization_id,
    gateway_id: home.gateway_id,
    board_id: home.board_id,
    is_board_lead: true,
    openclaw_session_id: home.lead.session_key,
    requests_per_minute: null,
    has_budgets: false,
    newly_seen: false,
  };
  const ctx = { ...world.context(), actor, gateways: held.gateways };
  const nudging = nudgeAgent(ctx, home.board_id, home.worker.id, { message: "Look" });
  const call = await held.call(0);
  const other = await world.call("POST", "/api/v1/tags", { token: home.owner.token, body: { name: "Meanwhile" } });
  expect([other.status, await events()]).toEqual([200, []]);
  call.answer();
  await nudging;
  expect(await events()).toHaveLength(1);
});

test("a call to a host that never answers or is down ends with an error within the time limit", async () => {
  const other = await startFakeGateway({ token: "test-token-123" });
  onTestFinished(() => other.close());
  await world.db.update(gateways).set({ url: other.url }).where(eq(gateways.id, home.gateway_id));
  const ctx = world.context();
  const work = async () => withInteractiveHost(ctx, await gatewayRow(), async () => "done", 1_000);
  other.faults.silent_handshake = true;
  await expect(work()).rejects.toBeInstanceOf(GatewayError);
  expect(await gatewayRow()).toMatchObject({ connected: false });
  other.faults.silent_handshake = false;
  await other.stop();
  await expect(work()).rejects.toThrow(/^Gateway unreachable for \d+ s during connect\. Last error: /);
  expect(await gatewayRow()).toMatchObject({ connected: false });
  await other.start();
  expect(await work()).toBe("done");
  expect(await gatewayRow()).toMatchObject({ connected: true, last_error: null });
});

test("the time limit of calls to hosts is below the timeout of the function, which is below the timeout of API Gateway", () => {
  expect(groups.agent.timeout_seconds * 1_000).toBeGreaterThan(INTERACTIVE_TIMEOUT_MS);
  expect(groups.agent.timeout_seconds).toBeLessThan(29);
});
