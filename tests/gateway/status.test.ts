import { activity_events, agents, gateways } from "@board/core/schema/all-tables";
import { setup } from "../support/fixtures.ts";
import { type FakeGateway, startFakeGateway } from "../support/fake-gateway/server.ts";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { DIALECTS } from "../support/dialects.ts";
import { type HostOptions, MASKED, startHost, startTwoOrganizations, TOKEN } from "./two-organizations.ts";
import { createWorld } from "../support/world.ts";

const neighbours = await setup(startTwoOrganizations());
const { world, gateway, home } = neighbours;

beforeEach(() => {
  gateway.calls.length = 0;
});

type Query = Record<string, string | boolean>;
const asked = (query: Query) =>
  new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]));
const status = (query: Query = {}, token = home.owner.token) =>
  world.call("GET", `/api/v1/gateway/status?${asked(query)}`, { token });
const at = ({ url }: { url: string }, more: Query = {}) => status({ gateway_url: url, gateway_token: TOKEN, ...more });
const methodsOf = ({ calls }: FakeGateway) => calls.map(({ method }) => method);
const unreachable = {
  connected: false,
  sessions_count: null,
  sessions: null,
  main_session: null,
  main_session_error: null,
};

describe("the status of a host that answers", () => {
  test.each(DIALECTS)("a host of version %s is connected, and shows its version and sessions", async (dialect) => {
    const shown = await startHost({ dialect });
    shown.sendAgentMessage("agent:main:main", "Hello");
    const answer = await at(shown);
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        connected: true,
        gateway_url: shown.url,
        version: dialect,
        sessions_count: 1,
        sessions: [
          expect.objectContaining({
            key: "agent:main:main",
            kind: "direct",
            label: null,
            agent_id: null,
            agent_name: null,
            last_activity: new Date(shown.host.sessions.get("agent:main:main")!.updatedAt).toISOString(),
          }),
        ],
        main_session: null,
        main_session_error: null,
        error: null,
      },
    ]);
    expect(methodsOf(shown)).toEqual(["connect", "health", "sessions.list"]);
    const other = await world.call("GET", `/api/v1/gateways/status?${asked({ gateway_url: shown.url, gateway_token: TOKEN })}`, {
      token: home.owner.token,
    });
    expect(other.body).toEqual(answer.body);
  });

  test("the status of a board's gateway creates and shows the main session", async () => {
    const key = `agent:mc-gateway-${home.gateway_id}:main`;
    const [main] = await world.db.select().from(agents).where(eq(agents.openclaw_session_id, key));
    const { body } = await status({ board_id: home.board_id });
    expect(body).toMatchObject({
      connected: true,
      gateway_url: gateway.url,
      main_session: {
        key,
        agent_id: main!.id,
        agent_name: main!.name,
        sessionId: expect.any(String),
        last_activity: expect.any(String),
      },
      main_session_error: null,
    });
    expect(gateway.calls.find(({ method }) => method === "sessions.patch")?.params).toEqual({ key });
    gateway.calls.length = 0;
    expect((await status()).body).toMatchObject({ connected: true, main_session: null });
    expect(methodsOf(gateway)).not.toContain("sessions.patch");
  });

  test("a host that fails to create its main session is connected, and the status shows the error", async () => {
    gateway.failNext("sessions.patch", { message: "missing scope: operator.admin" });
    expect((await status({ board_id: home.board_id })).body).toMatchObject({
      connected: true,
      main_session: null,
      main_session_error: expect.stringContaining("missing required scope `operator.admin`"),
      error: null,
    });
  });

  test("a host that does not answer for its main session is still connected", async () => {
    const silent = await startHost();
    const board_id = await neighbours.addBoardAt(silent.url, "Silent about the main session");
    silent.faults.delays_ms = { "sessions.patch": Number.POSITIVE_INFINITY };
    expect((await status({ board_id })).body).toMatchObject({
      connected: true,
      main_session: null,
      main_session_error: expect.stringContaining("did not answer sessions.patch"),
    });
  });

  test("a development build is connected with a warning", async () => {
    expect((await at(await startHost({ version: "dev" }))).body).toMatchObject({
      connected: true,
      version: null,
      error: expect.stringContaining("unable to determine gateway version"),
    });
  });
});

describe('the status of a host that cannot be used is "not connected", not an error', () => {
  test.each<[string, HostOptions, string | RegExp]>([
    ["is too old", { version: "2025.12.31" }, "not supported"],
    ["has an odd version", { version: "2026.13.1" }, "unsupported version format"],
    ["has a version with NUL in it", { version: "2026\0" }, "unsupported version format"],
    ["does not know the device", { remote: true }, "pairing required"],
  ])("a host that %s is not connected", async (_what, options, text) => {
    const { status: code, body } = await at(await startHost(options));
    expect([code, body]).toEqual([
      200,
      expect.objectContaining({
        ...unreachable,
        version: options.version?.replace("\0", "") ?? null,
        error: expect.stringContaining(text as string),
      }),
    ]);
  });

  test("a host that is down is not connected", async () => {
    const down = await startHost();
    await down.stop();
    const { status: code, body } = await at(down);
    expect([code, body]).toEqual([
      200,
      { ...unreachable, gateway_url: down.url, version: null, error: expect.stringContaining("ECONNREFUSED") },
    ]);
  });

  test("a host that refuses the token is not connected", async () => {
    const { body } = await at(gateway, { gateway_token: "wrong-token-S3cret" });
    expect(body).toMatchObject({ ...unreachable, error: expect.stringContaining("authentication failed") });
  });

  test.each(["health", "sessions.list"])("a host whose %s call fails is not connected", async (method) => {
    const failing = await startHost();
    failing.failNext(method, { message: "missing scope: operator.read" });
    expect((await at(failing)).body).toMatchObject({
      ...unreachable,
      version: "2026.2.9",
      error: expect.stringContaining("missing required scope `operator.read`"),
    });
  });

  test.each(["ws://10.0.0.1", "http://169.254.169.254/latest", "wss://[::1]:1", "ws://[::ffff:10.0.0.1]"])(
    "a host at %s, which is not allowed, is not connected",
    async (gateway_url) => {
      const { status: code, body } = await status({ gateway_url });
      expect([code, body]).toEqual([200, { ...unreachable, gateway_url, version: null, error: "Gateway host is not allowed." }]);
    },
  );

  test.concurrent.each(["handshake", "health", "sessions.list"])(
    "a host that never answers at %s is not connected",
    async (step) => {
      const silent = await startFakeGateway({ token: TOKEN });
      const board = await neighbours.addBoardAt(silent.url, `Silent at ${step}`);
      if (step === "handshake") {
        await silent.stop();
        silent.faults.silent_handshake = true;
        await silent.start();
      }
      silent.faults.delays_ms = { [step]: Number.POSITIVE_INFINITY };
      const { status: code, body } = await status({ board_id: board });
      expect([code, body]).toEqual([200, expect.objectContaining({ ...unreachable, error: expect.stringContaining("did not") })]);
      await silent.close();
    },
  );

  test("no host counts as connected while the configured minimum version is invalid", async () => {
    const other = await createWorld({ environment: { GATEWAY_MIN_VERSION: "soon" } });
    const { token } = await other.person("owner");
    const query = asked({ gateway_url: gateway.url, gateway_token: TOKEN });
    expect((await other.call("GET", `/api/v1/gateway/status?${query}`, { token })).body).toMatchObject({
      ...unreachable,
      error: expect.stringContaining("expected calver"),
    });
    await other.close();
  });
});

test("a connection that broke unnoticed is opened again", async () => {
  const lost = await startHost();
  await at(lost);
  lost.faults.dropped_connections = { health: 1 };
  expect((await at(lost)).body).toMatchObject({ connected: true, error: null });
  expect(lost.connections.opened).toBe(2);
});

test("a status request updates a saved gateway, but not when it sends a different token", async () => {
  const saved = await startHost();
  await saved.stop();
  const gateway_id = await neighbours.register(saved.url, { name: "Comes and goes" });
  const connectionState = async () => {
    const { body } = await world.call("GET", `/api/v1/gateways/${gateway_id}`, { token: home.owner.token });
    return [body.connected, body.version, body.last_error];
  };
  await saved.start();
  await status({ gateway_id });
  expect(await connectionState()).toEqual([true, "2026.2.9", null]);
  await at(saved, { gateway_token: "another-token" });
  expect(await connectionState()).toEqual([true, "2026.2.9", null]);
  await saved.stop();
  await at(saved, { gateway_token: MASKED });
  expect(await connectionState()).toEqual([false, "2026.2.9", expect.stringContaining("ECONN")]);
  const events = (await world.db.select().from(activity_events)).filter(({ message }) => message?.includes("Comes and goes"));
  expect(events.map(({ event_type }) => event_type).toSorted()).toEqual(["gateway.connected", "gateway.disconnected"]);
});

test.each([
  ["2025.12.31", "2025.12.31", "not supported"],
  ["2026.\0", "2026.", "unsupported version format"],
  ["dev", null, "unable to determine gateway version"],
])("a saved gateway whose host now has version %j shows the same as after a probe", async (version, shown, text) => {
  const changing = await startHost();
  const gateway_id = await neighbours.register(changing.url);
  await changing.stop();
  changing.host.options.version = version;
  await changing.start();
  expect((await status({ gateway_id })).body).toMatchObject({
    connected: version === "dev",
    version: shown,
    error: expect.stringContaining(text),
  });
  const { body } = await world.call("GET", `/api/v1/gateways/${gateway_id}`, { token: home.owner.token });
  expect(body).toMatchObject({ connected: true, version: shown, last_error: expect.stringContaining(text) });
});

test("a status takes three statements: authentication, the gateway and the agents of the sessions", async () => {
  gateway.sendAgentMessage("agent:main:main", "Hello");
  await status({ gateway_id: home.gateway_id });
  expect(await world.countStatements(() => status({ gateway_id: home.gateway_id }))).toBe(3);
  const [row] = await world.db.select().from(gateways).where(eq(gateways.id, home.gateway_id));
  expect(row).toMatchObject({ connected: true, version: "2026.2.9" });
});
