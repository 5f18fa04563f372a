import { activity_events, agents, gateways } from "@board/core/db/schema";
import { type FakeGateway, startFakeGateway } from "@board/local/fake-gateway/server";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { DIALECTS } from "./support/dialects.ts";
import { type HostOptions, MASKED, type Neighbours, startHost, startNeighbours, TOKEN } from "./support/neighbours.ts";
import { createWorld, type Tenant, type World } from "./support/world.ts";

let neighbours: Neighbours;
let world: World;
let gateway: FakeGateway;
let home: Tenant;

beforeAll(async () => {
  neighbours = await startNeighbours();
  ({ world, gateway, home } = neighbours);
});
afterAll(() => neighbours.close());
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
const away = {
  connected: false,
  sessions_count: null,
  sessions: null,
  main_session: null,
  main_session_error: null,
};

describe("a host that answers", () => {
  test.each(DIALECTS)("of version %s is connected, and shows its version and sessions", async (dialect) => {
    const shown = await startHost({ dialect });
    shown.say("agent:main:main", "Hello");
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

  test("is asked for its main session when a board is named, and has one then", async () => {
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

  test("and cannot make its main session is connected, and says why", async () => {
    gateway.fail("sessions.patch", { message: "missing scope: operator.admin" });
    expect((await status({ board_id: home.board_id })).body).toMatchObject({
      connected: true,
      main_session: null,
      main_session_error: expect.stringContaining("missing required scope `operator.admin`"),
      error: null,
    });
  });

  test("and never answers for its main session is connected all the same", async () => {
    const silent = await startHost();
    const board_id = await neighbours.addBoardAt(silent.url, "Silent about the main session");
    silent.faults.delays_ms = { "sessions.patch": Number.POSITIVE_INFINITY };
    expect((await status({ board_id })).body).toMatchObject({
      connected: true,
      main_session: null,
      main_session_error: expect.stringContaining("did not answer sessions.patch"),
    });
  });

  test("of a development build is connected with a warning", async () => {
    expect((await at(await startHost({ version: "dev" }))).body).toMatchObject({
      connected: true,
      version: null,
      error: expect.stringContaining("unable to determine gateway version"),
    });
  });
});

describe("a host that cannot be worked with is told as not connected, never as an error", () => {
  test.each<[string, HostOptions, string | RegExp]>([
    ["is too old", { version: "2025.12.31" }, "not supported"],
    ["has an odd version", { version: "2026.13.1" }, "unsupported version format"],
    ["has a version with NUL in it", { version: "2026\0" }, "unsupported version format"],
    ["knows no such device", { remote: true }, "pairing required"],
  ])("one that %s", async (_what, options, text) => {
    const { status: code, body } = await at(await startHost(options));
    expect([code, body]).toEqual([
      200,
      expect.objectContaining({
        ...away,
        version: options.version?.replace("\0", "") ?? null,
        error: expect.stringContaining(text as string),
      }),
    ]);
  });

  test("one that is down", async () => {
    const down = await startHost();
    await down.stop();
    const { status: code, body } = await at(down);
    expect([code, body]).toEqual([
      200,
      { ...away, gateway_url: down.url, version: null, error: expect.stringContaining("ECONNREFUSED") },
    ]);
  });

  test("one that refuses the token", async () => {
    const { body } = await at(gateway, { gateway_token: "wrong-token-S3cret" });
    expect(body).toMatchObject({ ...away, error: expect.stringContaining("authentication failed") });
  });

  test.each(["health", "sessions.list"])("one that fails at %s", async (method) => {
    const failing = await startHost();
    failing.fail(method, { message: "missing scope: operator.read" });
    expect((await at(failing)).body).toMatchObject({
      ...away,
      version: "2026.2.9",
      error: expect.stringContaining("missing required scope `operator.read`"),
    });
  });

  test.each(["ws://10.0.0.1", "http://169.254.169.254/latest", "wss://[::1]:1", "ws://[::ffff:10.0.0.1]"])(
    "one at %s, which may not be dialled",
    async (gateway_url) => {
      const { status: code, body } = await status({ gateway_url });
      expect([code, body]).toEqual([200, { ...away, gateway_url, version: null, error: "Gateway host is not allowed." }]);
    },
  );

  test.concurrent.each(["handshake", "health", "sessions.list"])("one that never says a word at %s", async (step) => {
    const silent = await startFakeGateway({ token: TOKEN });
    const board = await neighbours.addBoardAt(silent.url, `Silent at ${step}`);
    if (step === "handshake") {
      await silent.stop();
      silent.faults.silent_handshake = true;
      await silent.start();
    }
    silent.faults.delays_ms = { [step]: Number.POSITIVE_INFINITY };
    const { status: code, body } = await status({ board_id: board });
    expect([code, body]).toEqual([200, expect.objectContaining({ ...away, error: expect.stringContaining("did not") })]);
    await silent.close();
  });

  test("any, while the least version is not usable", async () => {
    const other = await createWorld({ environment: { GATEWAY_MIN_VERSION: "soon" } });
    const { token } = await other.person("owner");
    const query = asked({ gateway_url: gateway.url, gateway_token: TOKEN });
    expect((await other.call("GET", `/api/v1/gateway/status?${query}`, { token })).body).toMatchObject({
      ...away,
      error: expect.stringContaining("expected calver"),
    });
    await other.close();
  });
});

test("a connection that broke unnoticed is made anew", async () => {
  const lost = await startHost();
  await at(lost);
  lost.faults.cuts = { health: 1 };
  expect((await at(lost)).body).toMatchObject({ connected: true, error: null });
  expect(lost.connections.opened).toBe(2);
});

test("a saved gateway keeps what was seen; what a caller made up tells nothing about it", async () => {
  const saved = await startHost();
  await saved.stop();
  const gateway_id = await neighbours.register(saved.url, { name: "Comes and goes" });
  const known = async () => {
    const { body } = await world.call("GET", `/api/v1/gateways/${gateway_id}`, { token: home.owner.token });
    return [body.connected, body.version, body.last_error];
  };
  await saved.start();
  await status({ gateway_id });
  expect(await known()).toEqual([true, "2026.2.9", null]);
  await at(saved, { gateway_token: "another-token" });
  expect(await known()).toEqual([true, "2026.2.9", null]);
  await saved.stop();
  await at(saved, { gateway_token: MASKED });
  expect(await known()).toEqual([false, "2026.2.9", expect.stringContaining("ECONN")]);
  const events = (await world.db.select().from(activity_events)).filter(({ message }) => message?.includes("Comes and goes"));
  expect(events.map(({ event_type }) => event_type).toSorted()).toEqual(["gateway.connected", "gateway.disconnected"]);
});

test.each([
  ["2025.12.31", "2025.12.31", "not supported"],
  ["2026.\0", "2026.", "unsupported version format"],
  ["dev", null, "unable to determine gateway version"],
])("a saved gateway whose host has become %j says so as its probe would", async (version, shown, text) => {
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

test("a look costs sign-in, the gateway and the sessions' agents: three statements", async () => {
  gateway.say("agent:main:main", "Hello");
  await status({ gateway_id: home.gateway_id });
  world.statements.length = 0;
  await status({ gateway_id: home.gateway_id });
  expect(world.statements).toHaveLength(3);
  const [row] = await world.db.select().from(gateways).where(eq(gateways.id, home.gateway_id));
  expect(row).toMatchObject({ connected: true, version: "2026.2.9" });
});
