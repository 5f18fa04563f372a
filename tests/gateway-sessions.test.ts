import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { agents } from "@board/core/db/schema";
import type { DialectName } from "@board/local/fake-gateway/dialect";
import { type FakeGateway, startFakeGateway } from "@board/local/fake-gateway/server";
import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { createWorld, type Tenant, type World } from "./support/world.ts";

const TOKEN = "test-token-123";
const DIALECTS: DialectName[] = ["2026.2.9", "2026.2.26", "2026.5.7", "2026.9.6"];
const PREFIXES = ["/api/v1/gateway", "/api/v1/gateways"];

let world: World;
let gateway: FakeGateway;
let home: Tenant;
let abroad: Tenant;
let main_key: string;
const hosts: { close(): unknown }[] = [];

beforeAll(async () => {
  world = await createWorld();
  gateway = await startFakeGateway({ token: TOKEN, reply: ({ message }) => `You said: ${message}` });
  home = await world.tenant("home", gateway.url);
  abroad = await world.tenant("abroad");
  main_key = `agent:mc-gateway-${home.gateway_id}:main`;
});
afterAll(async () => {
  await world.close();
  await gateway.close();
});
beforeEach(() => {
  gateway.calls.length = 0;
});
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.close();
});

async function host(options: Omit<Parameters<typeof startFakeGateway>[0], "token"> = {}): Promise<FakeGateway> {
  const started = await startFakeGateway({ token: TOKEN, ...options });
  hosts.push(started);
  return started;
}

/** A host that gives the same text as the payload of every answer. */
async function hostSaying(payload: string): Promise<string> {
  const http = createServer();
  const sockets = new WebSocketServer({ server: http });
  sockets.on("connection", (socket) => {
    socket.on("message", (data) => {
      const { id, method } = JSON.parse(String(data)) as { id: string; method: string };
      const hello = JSON.stringify({ type: "hello-ok", protocol: 4, server: { version: "2026.9.6" } });
      socket.send(`{"type":"res","id":"${id}","ok":true,"payload":${method === "connect" ? hello : payload}}`);
    });
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  hosts.push({
    close() {
      for (const socket of sockets.clients) socket.terminate();
      http.close();
    },
  });
  return `ws://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

type Query = Record<string, string>;
const call = (method: string, path: string, query: Query = {}, body?: unknown, token = home.owner.token) =>
  world.call(method, `/api/v1/gateway${path}?${new URLSearchParams(query)}`, { token, ...(body === undefined ? {} : { body }) });
const sessions = (query: Query = {}) => call("GET", "/sessions", query);
const one = (key: string, query: Query = {}) => call("GET", `/sessions/${encodeURIComponent(key)}`, query);
const history = (key: string, query: Query = {}) => call("GET", `/sessions/${encodeURIComponent(key)}/history`, query);
const say = (key: string, body: unknown, query: Query = {}, token?: string) =>
  call("POST", `/sessions/${encodeURIComponent(key)}/message`, query, body, token);
const at = ({ url }: { url: string }): Query => ({ gateway_url: url, gateway_token: TOKEN });
const calledOf = ({ calls }: FakeGateway, method: string) =>
  calls.filter((one) => one.method === method).map(({ params }) => params);

/** Brings an agent onto a host, as provisioning does. */
async function seat(on: FakeGateway, name: string): Promise<void> {
  const target = { url: on.url, token: TOKEN, disable_device_pairing: false, allow_insecure_tls: false };
  await world.context().gateways.request(target, "agents.create", { name, workspace: `/srv/agents/${name}` });
}

describe("the list of sessions", () => {
  test.each(DIALECTS)("of a host of version %s names the agents of the organization", async (dialect) => {
    const shown = await host({ dialect, timings: { stale: 0 } });
    const [, lead_id] = home.lead.session_key.split(":");
    const [, foreign_id] = abroad.lead.session_key.split(":");
    await seat(shown, lead_id!);
    await seat(shown, foreign_id!);
    shown.say(home.lead.session_key, "Hello");
    shown.host.sessions.get(home.lead.session_key)!.label = "Lead of home";
    shown.say(abroad.lead.session_key, "Hello");
    shown.say("agent:main:main", "Hello");
    const { body } = await sessions(at(shown));
    const stamp = (key: string) => new Date(shown.host.sessions.get(key)!.updatedAt).toISOString();
    const byKey = Object.fromEntries(body.sessions.map((session: { key: string }) => [session.key, session]));
    expect(byKey).toEqual({
      [home.lead.session_key]: {
        key: home.lead.session_key,
        kind: "direct",
        sessionId: expect.any(String),
        updatedAt: expect.any(Number),
        displayName: "Lead of home",
        totalTokens: 0,
        label: "Lead of home",
        agent_id: home.lead.id,
        agent_name: "Lead",
        last_activity: stamp(home.lead.session_key),
      },
      [abroad.lead.session_key]: expect.objectContaining({ agent_id: null, agent_name: null }),
      "agent:main:main": expect.objectContaining({ agent_id: null, last_activity: stamp("agent:main:main") }),
    });
    expect(body.main_session).toBeNull();
    expect(calledOf(shown, "sessions.list")).toEqual([{}]);
  });

  test("has a main session when a board is named, without a label of ours", async () => {
    const [main] = await world.db.select().from(agents).where(eq(agents.openclaw_session_id, main_key));
    expect((await sessions({ gateway_id: home.gateway_id })).body.main_session).toBeNull();
    expect((await sessions({ board_id: home.board_id })).body.main_session).toMatchObject({
      key: main_key,
      agent_id: main!.id,
      agent_name: main!.name,
    });
    expect(calledOf(gateway, "sessions.patch")).toEqual([{ key: main_key }]);
  });

  test("leaves a main session that is there as it is", async () => {
    const seated = await host();
    const body = { name: "Seated", url: seated.url, workspace_root: "/srv", token: TOKEN };
    const gateway_id = (await world.call("POST", "/api/v1/gateways", { token: home.owner.token, body })).body.id;
    const board = { name: "Seated", description: "A board", gateway_id };
    const board_id = (await world.call("POST", "/api/v1/boards", { token: home.owner.token, body: board })).body.id;
    await seat(seated, `mc-gateway-${gateway_id}`);
    seated.say(`agent:mc-gateway-${gateway_id}:main`, "Hello");
    const answer = await sessions({ board_id });
    expect(answer.body.main_session).toEqual(answer.body.sessions[0]);
    expect(answer.body.main_session.agent_name).toBe("Seated Gateway Agent");
    expect(calledOf(seated, "sessions.patch")).toEqual([]);
  });

  test.each([
    ["null", []],
    ["5", []],
    ["{}", []],
    [`{"sessions":{"a":{"key":"a"}}}`, []],
    [`[null,"a",["b"],{"label":"no key"},{"key":5},{"key":""}]`, []],
    [`[{"key":"a","label":5,"updatedAt":"soon"}]`, [{ key: "a", label: null, last_activity: null }]],
    [`{"sessions":[{"key":"agent:a\\u0000:main","updatedAt":1e300}]}`, [{ key: "agent:a\0:main", last_activity: null }]],
    [`[{"key":"a","updatedAt":"2026-11-20T10:24:09Z"}]`, [{ key: "a", last_activity: "2026-11-20T10:24:09.000Z" }]],
    [`[{"key":"a","updatedAt":-99999999999999}]`, [{ key: "a", last_activity: null }]],
    [
      `[{"key":"a","agent_id":"theirs","agent_name":7,"last_activity":"x"}]`,
      [{ agent_id: null, agent_name: null, last_activity: null }],
    ],
    [`[{"key":"a","deep":${"[".repeat(20_000)}${"]".repeat(20_000)}}]`, [{ key: "a", deep: expect.any(Array) }]],
  ])("survives a host that says %.60s", async (payload, expected) => {
    const answer = await sessions({ gateway_url: await hostSaying(payload) });
    expect([answer.status, answer.body]).toMatchObject([200, { sessions: expected, main_session: null }]);
    expect(answer.body.sessions).toHaveLength(expected.length);
  });
});

describe("one session", () => {
  test("is found by its whole key, whichever prefix is used", async () => {
    gateway.say("agent:main:telegram:group:-100/1", "Hello");
    for (const prefix of PREFIXES) {
      const path = `${prefix}/sessions/${encodeURIComponent("agent:main:telegram:group:-100/1")}?gateway_id=${home.gateway_id}`;
      const answer = await world.call("GET", path, { token: home.owner.token });
      expect([answer.status, answer.body.session]).toMatchObject([200, { key: "agent:main:telegram:group:-100/1" }]);
    }
    for (const unknown of ["agent:main:telegram", "telegram:group:-100/1", "agent:main:nobody", "%", " "]) {
      const answer = await one(unknown, { gateway_id: home.gateway_id });
      expect([answer.status, answer.body], unknown).toEqual([404, { detail: "Not Found" }]);
    }
    expect(calledOf(gateway, "sessions.patch")).toEqual([]);
  });

  test.each(DIALECTS)("the main one of a host of version %s is made before it is looked for", async (dialect) => {
    const fresh = await host({ dialect });
    const body = { name: "Fresh", url: fresh.url, workspace_root: "/srv", token: TOKEN };
    const gateway_id = (await world.call("POST", "/api/v1/gateways", { token: home.owner.token, body })).body.id;
    const key = `agent:mc-gateway-${gateway_id}:main`;
    const answer = await one(key, { gateway_id });
    expect([answer.status, answer.body.session]).toMatchObject([200, { key, agent_name: "Fresh Gateway Agent" }]);
    expect(fresh.calls.map(({ method }) => method)).toEqual(["connect", "sessions.patch", "sessions.list"]);
    expect((await one(key, at(gateway))).status).toBe(404);
  });

  test.each(["%00", "x".repeat(1_001)])("has no key like %.9s", async (key) => {
    const answer = await call("GET", `/sessions/${key}`);
    expect([answer.status, answer.body.detail]).toMatchObject([422, [{ loc: ["path", "session_id"] }]]);
  });
});

describe("the history of a session", () => {
  test.each(DIALECTS)("of a host of version %s is what was said, the latest of it", async (dialect) => {
    const talking = await host({ dialect });
    for (const words of ["one", "two", "three"]) talking.say("agent:main:main", words);
    const said = (answer: { body: { history: { content: { text: string }[] }[] } }) =>
      answer.body.history.map(({ content }) => content[0]!.text);
    expect(said(await history("agent:main:main", at(talking)))).toEqual(["one", "two", "three"]);
    expect(said(await history("agent:main:main", { ...at(talking), limit: "2" }))).toEqual(["two", "three"]);
    expect((await history("agent:main:nobody", at(talking))).body).toEqual({ history: [] });
    expect(calledOf(talking, "chat.history")).toEqual([
      { sessionKey: "agent:main:main", limit: 200 },
      { sessionKey: "agent:main:main", limit: 2 },
      { sessionKey: "agent:main:nobody", limit: 200 },
    ]);
  });

  test.each([
    ["null", []],
    [`{"messages":"none"}`, []],
    [`["hello",{"role":"user"},null]`, ["hello", { role: "user" }, null]],
    [`{"messages":[{"role":"user","content":"x"}]}`, [{ role: "user", content: "x" }]],
  ])("survives a host that says %s", async (payload, expected) => {
    expect((await history("agent:main:main", { gateway_url: await hostSaying(payload) })).body).toEqual({ history: expected });
  });

  test.each(["0", "1001", "many"])("cannot have %s messages", async (limit) => {
    const answer = await history("agent:main:main", { limit });
    expect([answer.status, answer.body.detail]).toMatchObject([422, [{ loc: ["query", "limit"] }]]);
  });
});

describe("a message", () => {
  test.each(DIALECTS)("reaches the session on a host of version %s and stays there", async (dialect) => {
    const listening = await host({ dialect });
    const answer = await say("agent:main:main", { content: "  Hello \n" }, at(listening));
    expect([answer.status, answer.body]).toEqual([200, { ok: true }]);
    expect(listening.messages).toMatchObject([{ session_key: "agent:main:main", message: "Hello", deliver: false }]);
    expect((await say("agent:main:main", { content: "Hello" }, at(listening))).status).toBe(200);
    expect(new Set(listening.messages.map((message) => message.idempotency_key)).size).toBe(2);
  });

  test("is not said twice when the answer to it is lost", async () => {
    const losing = await host();
    losing.faults.lost_answers = { "chat.send": 1 };
    expect((await say("agent:main:main", { content: "Once" }, at(losing))).status).toBe(200);
    expect(calledOf(losing, "chat.send")).toHaveLength(2);
    expect(losing.messages).toHaveLength(1);
  });

  test.each([{}, { content: null }, { content: 5 }, { content: " " }, { content: "x".repeat(100_001) }])(
    "needs words: %.40j",
    async (body) => {
      const answer = await say("agent:main:main", body);
      expect([answer.status, answer.body.detail]).toMatchObject([422, [{ loc: ["body", "content"] }]]);
      expect(gateway.calls).toEqual([]);
    },
  );

  test("takes the right to write to the board that is named", async () => {
    const reader = await world.person("reader");
    await world.join(reader, home.organization_id, "admin", { read: true });
    const words = { content: "From the reader" };
    const refused = await say("agent:main:main", words, { board_id: home.board_id }, reader.token);
    expect([refused.status, refused.body]).toEqual([403, { detail: "Board access denied" }]);
    const also = await say("agent:main:main", words, { board_id: home.board_id, gateway_id: home.gateway_id }, reader.token);
    expect(also.status).toBe(403);
    expect((await call("GET", "/sessions", { board_id: home.board_id }, undefined, reader.token)).status).toBe(200);
    expect(calledOf(gateway, "chat.send")).toEqual([]);
    const unnamed = await say("agent:main:main", words, { gateway_id: home.gateway_id }, reader.token);
    expect(unnamed.status).toBe(200);
  });
});

describe("commands", () => {
  test.each(DIALECTS)("are those that a host of version %s names", async (dialect) => {
    const speaking = await host({ dialect });
    for (const prefix of PREFIXES) {
      const path = `${prefix}/commands?${new URLSearchParams(at(speaking))}`;
      expect((await world.call("GET", path, { token: home.owner.token })).body).toEqual({
        protocol_version: dialect === "2026.9.6" ? 4 : 3,
        methods: expect.arrayContaining(["chat.send", "device.pair.list"]),
        events: expect.arrayContaining(["connect.challenge", "tick"]),
      });
    }
  });

  test("are those this service uses when no host answers, or none is meant", async () => {
    const down = await host();
    await down.stop();
    const { token } = await world.person("without gateways");
    for (const answer of [await call("GET", "/commands", at(down)), await call("GET", "/commands", {}, undefined, token)]) {
      expect([answer.status, answer.body.protocol_version, answer.body.events]).toEqual([
        200,
        4,
        ["connect.challenge", "shutdown"],
      ]);
      expect(answer.body.methods.toSorted()).toEqual([
        "agents.create",
        "agents.delete",
        "agents.files.get",
        "agents.files.list",
        "agents.files.set",
        "agents.list",
        "agents.update",
        "chat.abort",
        "chat.history",
        "chat.send",
        "config.get",
        "config.patch",
        "health",
        "sessions.delete",
        "sessions.list",
        "sessions.patch",
        "sessions.reset",
      ]);
    }
    expect((await call("GET", "/commands", { gateway_id: abroad.gateway_id })).status).toBe(404);
  });
});

const operations: [string, (query: Query) => ReturnType<typeof call>][] = [
  ["the list", (query) => sessions(query)],
  ["one session", (query) => one("agent:main:main", query)],
  ["the history", (query) => history("agent:main:main", query)],
  ["a message", (query) => say("agent:main:main", { content: "Hello" }, query)],
];

describe.each(operations)("%s", (_what, ask) => {
  test("finds nothing of another organization", async () => {
    for (const query of [
      { gateway_id: abroad.gateway_id },
      { board_id: abroad.board_id },
      { board_id: abroad.board_id, ...at(gateway) },
    ] as Query[]) {
      const answer = await ask(query);
      expect([answer.status, answer.body]).toEqual([404, { detail: "Not Found" }]);
    }
    expect(gateway.calls).toEqual([]);
  });

  test("tells a host's refusal as 502, in words that hold no token", async () => {
    const answer = await ask({ gateway_url: gateway.url, gateway_token: "wrong-token-S3cret" });
    expect([answer.status, answer.body]).toEqual([
      502,
      { detail: expect.stringMatching(/^Gateway session request failed: Gateway authentication failed/) },
    ]);
    expect(answer.text).not.toContain("S3cret");
  });

  test("does not dial an address that may not be dialled", async () => {
    const answer = await ask({ gateway_url: "ws://10.0.0.1" });
    expect([answer.status, answer.body]).toEqual([
      502,
      { detail: "Gateway session request failed: Gateway host is not allowed." },
    ]);
  });

  test("outlives a restart of the host", async () => {
    const restarting = await host();
    restarting.say("agent:main:main", "Hello");
    const statuses = [503, 503, null];
    Object.defineProperty(restarting.faults, "upgrade_status", { get: () => statuses.shift() ?? null });
    expect((await ask(at(restarting))).status).toBe(200);
    expect(statuses).toEqual([]);
  });
});

test("an agent that the host does not have is told in the host's words", async () => {
  const strict = await host({ dialect: "2026.5.7" });
  const answer = await say("agent:ghost:main", { content: "Hello" }, at(strict));
  expect([answer.status, answer.body]).toEqual([
    502,
    { detail: 'Gateway session request failed: Agent "ghost" no longer exists in configuration' },
  ]);
});

describe.concurrent("every operation ends, with a reason", () => {
  const never = Number.POSITIVE_INFINITY;
  test.each<[string, (faulty: FakeGateway) => unknown, RegExp]>([
    ["is down", (faulty) => faulty.stop(), /unreachable for \d+ s during .*ECONNREFUSED/],
    ["never lets anybody in", ({ faults }) => (faults.silent_handshake = true), /did not/],
    [
      "never answers",
      ({ faults }) => (faults.delays_ms = { "sessions.list": never, "chat.history": never, "chat.send": never }),
      /did not answer/,
    ],
  ])(
    "when the host %s",
    async (_how, spoil, reason) => {
      const faulty = await startFakeGateway({ token: TOKEN });
      await spoil(faulty);
      for (const answer of await Promise.all(operations.map(([, ask]) => ask(at(faulty))))) {
        expect([answer.status, answer.body]).toEqual([502, { detail: expect.stringMatching(reason) }]);
        expect(answer.body.detail).toMatch(/^Gateway session request failed: /);
      }
      await faulty.close();
    },
    60_000,
  );
});

test("a saved gateway is known to be away once a call has failed, and back once one has not", async () => {
  const moody = await host();
  const body = { name: "Moody", url: moody.url, workspace_root: "/srv", token: TOKEN };
  const gateway_id = (await world.call("POST", "/api/v1/gateways", { token: home.owner.token, body })).body.id;
  const known = async () => {
    const shown = await world.call("GET", `/api/v1/gateways/${gateway_id}`, { token: home.owner.token });
    return [shown.body.connected, shown.body.last_error];
  };
  await moody.stop();
  moody.faults.upgrade_status = 403;
  await moody.start();
  expect((await sessions({ gateway_id })).status).toBe(502);
  expect(await known()).toEqual([false, expect.stringContaining("HTTP 403")]);
  moody.faults.upgrade_status = null;
  expect((await history("agent:main:main", { gateway_id })).status).toBe(200);
  expect(await known()).toEqual([true, null]);
});

test("each operation costs sign-in and the gateway, and a list the sessions' agents", async () => {
  gateway.say("agent:main:main", "Hello");
  await sessions({ gateway_id: home.gateway_id });
  const costs: number[] = [];
  for (const [, ask] of operations) {
    world.statements.length = 0;
    await ask({ gateway_id: home.gateway_id });
    costs.push(world.statements.length);
  }
  expect(costs).toEqual([3, 3, 2, 2]);
});

test("no token, no query and no word of a message is in a log line", async () => {
  world.log.length = 0;
  for (const [, ask] of operations) await ask({ gateway_url: gateway.url, gateway_token: "wrong-token-S3cret" });
  const written = JSON.stringify(world.log);
  for (const secret of ["S3cret", TOKEN, "gateway_url", "Hello"]) expect(written).not.toContain(secret);
  expect(world.log.filter(({ event }) => event === "http.request")).toHaveLength(operations.length);
});
