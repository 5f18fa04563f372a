import { agents } from "@board/core/schema/all-tables";
import type { FakeGateway } from "../support/fake-gateway/server.ts";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { DIALECTS } from "../support/dialects.ts";
import { targetQuery, createSessionCalls, startFixedAnswerHost } from "./session-calls.ts";
import { startHost, startTwoOrganizations, TOKEN } from "./two-organizations.ts";
import { callsOf } from "../support/provisioning.ts";
import { setup } from "../support/fixtures.ts";

const PREFIXES = ["/api/v1/gateway", "/api/v1/gateways"];

const neighbours = await setup(startTwoOrganizations({ reply: ({ message }) => `You said: ${message}` }));
const { world, gateway, home, abroad } = neighbours;

beforeEach(() => {
  gateway.calls.length = 0;
});

const { call, sessions, one, history, say } = createSessionCalls(() => neighbours);

/** Adds an agent to a host, as provisioning does. */
async function addAgentToHost(on: FakeGateway, name: string): Promise<void> {
  const target = { url: on.url, token: TOKEN, disable_device_pairing: false, allow_insecure_tls: false };
  await world.context().gateways.request(target, "agents.create", { name, workspace: `/srv/agents/${name}` });
}

describe("the list of sessions", () => {
  test.each(DIALECTS)("the sessions of a host of version %s show the names of the organization's agents", async (dialect) => {
    const shown = await startHost({ dialect, timings: { stale: 0 } });
    const [, lead_id] = home.lead.session_key.split(":");
    const [, foreign_id] = abroad.lead.session_key.split(":");
    await addAgentToHost(shown, lead_id!);
    await addAgentToHost(shown, foreign_id!);
    shown.sendAgentMessage(home.lead.session_key, "Hello");
    shown.host.sessions.get(home.lead.session_key)!.label = "Lead of home";
    shown.sendAgentMessage(abroad.lead.session_key, "Hello");
    shown.sendAgentMessage("agent:main:main", "Hello");
    const { body } = await sessions(targetQuery(shown));
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
    expect(callsOf(shown, "sessions.list")).toEqual([{}]);
  });

  test("listing the sessions of a board's gateway creates a missing main session without a label", async () => {
    const main_key = `agent:mc-gateway-${home.gateway_id}:main`;
    const [main] = await world.db.select().from(agents).where(eq(agents.openclaw_session_id, main_key));
    expect((await sessions({ gateway_id: home.gateway_id })).body.main_session).toBeNull();
    expect((await sessions({ board_id: home.board_id })).body.main_session).toMatchObject({
      key: main_key,
      agent_id: main!.id,
      agent_name: main!.name,
    });
    expect(callsOf(gateway, "sessions.patch")).toEqual([{ key: main_key }]);
  });

  test("listing sessions leaves an existing main session unchanged", async () => {
    const with_main_session = await startHost();
    const gateway_id = await neighbours.register(with_main_session.url, { name: "Seated" });
    const board = { name: "Seated", description: "A board", gateway_id };
    const board_id = (await world.call("POST", "/api/v1/boards", { token: home.owner.token, body: board })).body.id;
    await addAgentToHost(with_main_session, `mc-gateway-${gateway_id}`);
    with_main_session.sendAgentMessage(`agent:mc-gateway-${gateway_id}:main`, "Hello");
    const answer = await sessions({ board_id });
    expect(answer.body.main_session).toEqual(answer.body.sessions[0]);
    expect(answer.body.main_session.agent_name).toBe("Seated Gateway Agent");
    expect(callsOf(with_main_session, "sessions.patch")).toEqual([]);
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
    [`[{"key":"a","deep":${"[".repeat(60)}${"]".repeat(60)}}]`, [{ key: "a", deep: expect.any(Array) }]],
  ])("the list accepts the malformed payload %s", async (payload, expected) => {
    const answer = await sessions({ gateway_url: await startFixedAnswerHost(payload) });
    expect([answer.status, answer.body]).toMatchObject([200, { sessions: expected, main_session: null }]);
    expect(answer.body.sessions).toHaveLength(expected.length);
  });
});

describe("one session", () => {
  test("a session is found by its whole key under both path prefixes", async () => {
    gateway.sendAgentMessage("agent:main:telegram:group:-100/1", "Hello");
    for (const prefix of PREFIXES) {
      const path = `${prefix}/sessions/${encodeURIComponent("agent:main:telegram:group:-100/1")}?gateway_id=${home.gateway_id}`;
      const answer = await world.call("GET", path, { token: home.owner.token });
      expect([answer.status, answer.body.session]).toMatchObject([200, { key: "agent:main:telegram:group:-100/1" }]);
    }
    for (const unknown of ["agent:main:telegram", "telegram:group:-100/1", "agent:main:nobody", "%", " "]) {
      const answer = await one(unknown, { gateway_id: home.gateway_id });
      expect([answer.status, answer.body], unknown).toEqual([404, { detail: "Not Found" }]);
    }
    expect(callsOf(gateway, "sessions.patch")).toEqual([]);
  });

  test.each(DIALECTS)("the main session of a host of version %s is created before it is looked up", async (dialect) => {
    const fresh = await startHost({ dialect });
    const gateway_id = await neighbours.register(fresh.url, { name: "Fresh" });
    const key = `agent:mc-gateway-${gateway_id}:main`;
    const answer = await one(key, { gateway_id });
    expect([answer.status, answer.body.session]).toMatchObject([200, { key, agent_name: "Fresh Gateway Agent" }]);
    expect(fresh.calls.map(({ method }) => method)).toEqual(["connect", "sessions.patch", "sessions.list"]);
    expect((await one(key, targetQuery(gateway))).status).toBe(404);
  });

  test.each(["%00", "x".repeat(1_001)])(
    "a session key with a NUL or more than 1,000 characters is refused (case %#)",
    async (key) => {
      const answer = await call("GET", `/sessions/${key}`);
      expect([answer.status, answer.body.detail]).toMatchObject([422, [{ loc: ["path", "session_id"] }]]);
    },
  );
});

describe("the history of a session", () => {
  test.each(DIALECTS)("the history of a session on a host of version %s returns the latest messages", async (dialect) => {
    const talking = await startHost({ dialect });
    for (const words of ["one", "two", "three"]) talking.sendAgentMessage("agent:main:main", words);
    const textsOf = (answer: { body: { history: { content: { text: string }[] }[] } }) =>
      answer.body.history.map(({ content }) => content[0]!.text);
    expect(textsOf(await history("agent:main:main", targetQuery(talking)))).toEqual(["one", "two", "three"]);
    expect(textsOf(await history("agent:main:main", { ...targetQuery(talking), limit: "2" }))).toEqual(["two", "three"]);
    expect((await history("agent:main:nobody", targetQuery(talking))).body).toEqual({ history: [] });
    expect(callsOf(talking, "chat.history")).toEqual([
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
  ])("the history accepts the malformed payload %s", async (payload, expected) => {
    expect((await history("agent:main:main", { gateway_url: await startFixedAnswerHost(payload) })).body).toEqual({
      history: expected,
    });
  });

  test.each(["0", "1001", "many"])("a history limit of %s is refused", async (limit) => {
    const answer = await history("agent:main:main", { limit });
    expect([answer.status, answer.body.detail]).toMatchObject([422, [{ loc: ["query", "limit"] }]]);
  });
});

describe("a message to a session", () => {
  test.each(DIALECTS)("a message reaches the session on a host of version %s and is in its history", async (dialect) => {
    const listening = await startHost({ dialect });
    const answer = await say("agent:main:main", { content: "  Hello \n" }, targetQuery(listening));
    expect([answer.status, answer.body]).toEqual([200, { ok: true }]);
    expect(listening.messages).toMatchObject([{ session_key: "agent:main:main", message: "Hello", deliver: false }]);
    expect((await say("agent:main:main", { content: "Hello" }, targetQuery(listening))).status).toBe(200);
    expect(new Set(listening.messages.map((message) => message.idempotency_key)).size).toBe(2);
  });

  test("a message is not sent twice when its response is lost", async () => {
    const losing = await startHost();
    losing.faults.lost_responses = { "chat.send": 1 };
    expect((await say("agent:main:main", { content: "Once" }, targetQuery(losing))).status).toBe(200);
    expect(callsOf(losing, "chat.send")).toHaveLength(2);
    expect(losing.messages).toHaveLength(1);
  });

  test.each([{}, { content: null }, { content: 5 }, { content: " " }, { content: "x".repeat(100_001) }])(
    "a message without a valid content is refused: %.40j",
    async (body) => {
      const answer = await say("agent:main:main", body);
      expect([answer.status, answer.body.detail]).toMatchObject([422, [{ loc: ["body", "content"] }]]);
      expect(gateway.calls).toEqual([]);
    },
  );

  test("a message needs write access to the board in the query", async () => {
    const reader = await world.member("reader", home, "admin", { read: true });
    const words = { content: "From the reader" };
    const refused = await say("agent:main:main", words, { board_id: home.board_id }, reader.token);
    expect([refused.status, refused.body]).toEqual([403, { detail: "Board access denied" }]);
    const also = await say("agent:main:main", words, { board_id: home.board_id, gateway_id: home.gateway_id }, reader.token);
    expect(also.status).toBe(403);
    expect((await call("GET", "/sessions", { board_id: home.board_id }, undefined, reader.token)).status).toBe(200);
    expect(callsOf(gateway, "chat.send")).toEqual([]);
    const unnamed = await say("agent:main:main", words, { gateway_id: home.gateway_id }, reader.token);
    expect(unnamed.status).toBe(200);
  });
});

describe("the list of commands", () => {
  test.each(DIALECTS)("the commands of a host of version %s are the ones it supports", async (dialect) => {
    const speaking = await startHost({ dialect });
    for (const prefix of PREFIXES) {
      const path = `${prefix}/commands?${new URLSearchParams(targetQuery(speaking))}`;
      expect((await world.call("GET", path, { token: home.owner.token })).body).toEqual({
        protocol_version: dialect === "2026.9.6" ? 4 : 3,
        methods: expect.arrayContaining(["chat.send", "device.pair.list"]),
        events: expect.arrayContaining(["connect.challenge", "tick"]),
      });
    }
  });

  test("the commands that this service uses are listed when no host answers or no host is selected", async () => {
    const down = await startHost();
    await down.stop();
    const { token } = await world.person("without gateways");
    for (const answer of [
      await call("GET", "/commands", targetQuery(down)),
      await call("GET", "/commands", {}, undefined, token),
    ]) {
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
