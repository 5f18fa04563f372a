import { setTimeout as pause } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type FakeGateway, startFakeGateway } from "../support/fake-gateway/server.ts";
import { type LocalService, startLocalService as start } from "../support/local-service.ts";
import { cleanUpPrograms, dataFolder } from "../support/program.ts";

afterEach(cleanUpPrograms);

describe("a crash of the server", () => {
  const TOKEN = "gateway-token-0815";
  let gateway: FakeGateway;
  /** The lead's session. */
  let session_key: string;
  afterEach(() => gateway.close());

  interface Setup {
    folder: string;
    server: LocalService;
    board_id: string;
    webhook_path: string;
  }

  /** Starts a server with a board, a lead and a webhook on a working gateway. */
  async function startWithWebhook(): Promise<Setup> {
    gateway = await startFakeGateway({ token: TOKEN });
    const folder = dataFolder();
    const server = await start(folder);
    const create = async (at: string, body: object) => (await server.call("POST", at, { body })).body;
    const host = await create("/api/v1/gateways", {
      name: "Host",
      url: gateway.url,
      token: TOKEN,
      workspace_root: "/srv/agents",
    });
    const board = await create("/api/v1/boards", { name: "Shop", description: "A shop", gateway_id: host.id });
    const lead = await create("/api/v1/agents", { name: "Lead", board_id: board.id, is_board_lead: true });
    const webhook = await create(`/api/v1/boards/${board.id}/webhooks`, { description: "Look into it" });
    const isReady = async () => (await server.call("GET", `/api/v1/agents/${lead.id}`)).body.status === "ready";
    await vi.waitUntil(isReady, { timeout: 30_000, interval: 200 });
    // A heartbeat prevents another wake-up.
    await server.call("POST", "/api/v1/agent/heartbeat", { agent: lead.auth_token });
    session_key = lead.openclaw_session_id;
    gateway.calls.length = 0;
    return { folder, server, board_id: board.id, webhook_path: webhook.endpoint_path };
  }

  /** Returns the ids of the payloads that are stored, that became board memory, and that the agent received, with repetitions. */
  async function payloadIds({ server, board_id, webhook_path }: Setup) {
    const items = async (at: string) => (await server.call("GET", `${at}?limit=200`)).body.items;
    const payloads: { id: string }[] = await items(`${webhook_path}/payloads`);
    const entries: { tags: string[] }[] = await items(`/api/v1/boards/${board_id}/memory`);
    return {
      stored: payloads.map(({ id }) => id).toSorted(),
      remembered: entries.map(({ tags }) => tags.find((tag) => tag.startsWith("payload:"))!.slice(8)).toSorted(),
      notified: notified().toSorted(),
    };
  }
  const callsOf = (method: string) =>
    gateway.calls.filter((call) => call.method === method && JSON.stringify(call.params).includes(session_key));
  const notified = () =>
    gateway.messages
      .filter(({ message }) => message.startsWith("WEBHOOK EVENT RECEIVED"))
      .map(({ message }) => /^Payload ID: (\S+)$/m.exec(message)![1]!);

  test.each([
    { moment: "before the host has the message", method: "sessions.patch", sent: 1 },
    { moment: "after the host took the message and before it was recorded", method: "chat.send", sent: 2 },
  ])("after kill -9 $moment, the agent is notified once", async ({ method, sent }) => {
    const setup = await startWithWebhook();
    gateway.faults.delays_ms[method] = Number.POSITIVE_INFINITY;
    const { status, body } = await setup.server.call("POST", setup.webhook_path, { body: { order: 7 } });
    expect(status).toBe(202);
    await vi.waitUntil(() => callsOf(method).length > 0, { timeout: 10_000 });
    await setup.server.stop("SIGKILL");
    gateway.faults.delays_ms = {};

    setup.server = await start(setup.folder);
    const calls = () => callsOf("chat.send");
    await vi.waitUntil(() => calls().length === sent, { timeout: 20_000 });
    const once = [body.payload_id];
    expect(await payloadIds(setup)).toEqual({ stored: once, remembered: once, notified: once });
    expect(new Set(calls().map(({ params }) => (params as { idempotencyKey: string }).idempotencyKey)).size).toBe(1);
  });

  test("of twenty posts during four kill -9, each accepted one is stored and delivered once", async () => {
    const setup = await startWithWebhook();
    // These delays make some kills interrupt a delivery and let other deliveries finish.
    gateway.faults.delays_ms = { "sessions.patch": 20, "chat.send": 40 };
    const accepted: string[] = [];
    let unanswered = 0;
    const post = async (number: number) => {
      const { status, body } = await setup.server.call("POST", setup.webhook_path, { body: { number } });
      expect(status).toBe(202);
      accepted.push(body.payload_id);
    };
    // One fewer than the crashes after which a job is dead, since all of them may interrupt the same delivery.
    for (let round = 0; round < 4; round += 1) {
      const posts = [1, 2, 3, 4, 5].map((number) => post(round * 5 + number).catch(() => (unanswered += 1)));
      await pause(Math.random() * 500);
      await setup.server.stop("SIGKILL");
      await Promise.all(posts);
      setup.server = await start(setup.folder);
    }
    for (let number = 0; number < unanswered; number += 1) await post(100 + number);
    expect(accepted).toHaveLength(20);

    // A payload whose answer was lost in a kill is also delivered.
    const stored = (await payloadIds(setup)).stored;
    await vi.waitUntil(() => notified().length >= stored.length, { timeout: 30_000 });
    expect(await payloadIds(setup)).toEqual({ stored, remembered: stored, notified: stored });
    expect(new Set(stored).size).toBe(stored.length);
    expect(stored).toEqual(expect.arrayContaining(accepted));
  });

  test("a gateway that never answers does not delay the shutdown, and its message arrives after the next start", async () => {
    const setup = await startWithWebhook();
    gateway.faults.delays_ms["sessions.patch"] = Number.POSITIVE_INFINITY;
    const { body } = await setup.server.call("POST", setup.webhook_path, { raw: "hello" });
    await vi.waitUntil(() => gateway.calls.some(({ method }) => method === "sessions.patch"), { timeout: 10_000 });
    // The call itself would time out after 15 s.
    const ending = await Promise.race([setup.server.stop("SIGTERM"), pause(12_000, "still waiting", { ref: false })]);
    expect(ending).toEqual({ code: 0, signal: null });
    gateway.faults.delays_ms = {};
    setup.server = await start(setup.folder);
    await vi.waitUntil(() => notified().length > 0, { timeout: 25_000 });
    expect(notified()).toEqual([body.payload_id]);
  });
});
