import { activity_events, agents, boards, gateways } from "@board/core/db/schema";
import type { DialectName } from "@board/local/fake-gateway/dialect";
import { type FakeGateway, startFakeGateway } from "@board/local/fake-gateway/server";
import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createWorld, type Tenant, type World } from "./support/world.ts";

const TOKEN = "test-token-123";
const MASKED = "********-123";
const DIALECTS: DialectName[] = ["2026.2.9", "2026.2.26", "2026.5.7", "2026.9.6"];
type Options = Omit<Parameters<typeof startFakeGateway>[0], "token">;

let world: World;
let gateway: FakeGateway;
let home: Tenant;
let abroad: Tenant;
const hosts: FakeGateway[] = [];

beforeAll(async () => {
  world = await createWorld();
  gateway = await startFakeGateway({ token: TOKEN });
  home = await world.tenant("home", gateway.url);
  abroad = await world.tenant("abroad");
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

async function host(options: Options = {}): Promise<FakeGateway> {
  const started = await startFakeGateway({ token: TOKEN, ...options });
  hosts.push(started);
  return started;
}

type Query = Record<string, string | boolean>;
const asked = (query: Query) =>
  new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]));
const status = (query: Query = {}, token = home.owner.token) =>
  world.call("GET", `/api/v1/gateway/status?${asked(query)}`, { token });
const at = ({ url }: { url: string }, more: Query = {}) => status({ gateway_url: url, gateway_token: TOKEN, ...more });
const register = async (url: string, changed: object = {}, token = home.owner.token): Promise<string> => {
  const body = { name: "Host", url, workspace_root: "/srv", token: TOKEN, ...changed };
  return (await world.call("POST", "/api/v1/gateways", { token, body })).body.id;
};
const methodsOf = ({ calls }: FakeGateway) => calls.map(({ method }) => method);
const authOf = ({ calls }: FakeGateway) =>
  calls.filter(({ method }) => method === "connect").map(({ params }) => (params as { auth?: { token: string } }).auth?.token);
const clientsOf = ({ calls }: FakeGateway) =>
  calls.filter(({ method }) => method === "connect").map(({ params }) => (params as { client: { id: string } }).client.id);
const away = {
  connected: false,
  sessions_count: null,
  sessions: null,
  main_session: null,
  main_session_error: null,
};

describe("a host that answers", () => {
  test.each(DIALECTS)("of version %s is connected, and shows its version and sessions", async (dialect) => {
    const shown = await host({ dialect });
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
    const silent = await host();
    const board_id = await boardAt(silent.url, "Silent about the main session");
    silent.faults.delays_ms = { "sessions.patch": Number.POSITIVE_INFINITY };
    expect((await status({ board_id })).body).toMatchObject({
      connected: true,
      main_session: null,
      main_session_error: expect.stringContaining("did not answer sessions.patch"),
    });
  });

  test("of a development build is connected with a warning", async () => {
    expect((await at(await host({ version: "dev" }))).body).toMatchObject({
      connected: true,
      version: null,
      error: expect.stringContaining("unable to determine gateway version"),
    });
  });
});

describe("a host that cannot be worked with is told as not connected, never as an error", () => {
  test.each<[string, Options, string | RegExp]>([
    ["is too old", { version: "2025.12.31" }, "not supported"],
    ["has an odd version", { version: "2026.13.1" }, "unsupported version format"],
    ["has a version with NUL in it", { version: "2026\0" }, "unsupported version format"],
    ["knows no such device", { remote: true }, "pairing required"],
  ])("one that %s", async (_what, options, text) => {
    const { status: code, body } = await at(await host(options));
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
    const down = await host();
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
    const failing = await host();
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
    const board = await boardAt(silent.url, `Silent at ${step}`);
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

/** A board whose gateway is at the address. */
async function boardAt(url: string, name: string): Promise<string> {
  const body = { name, description: "A board", gateway_id: await register(url) };
  return (await world.call("POST", "/api/v1/boards", { token: home.owner.token, body })).body.id;
}

test("a connection that broke unnoticed is made anew", async () => {
  const lost = await host();
  await at(lost);
  lost.faults.cuts = { health: 1 };
  expect((await at(lost)).body).toMatchObject({ connected: true, error: null });
  expect(lost.connections.opened).toBe(2);
});

test("a saved gateway keeps what was seen; what a caller made up tells nothing about it", async () => {
  const saved = await host();
  await saved.stop();
  const gateway_id = await register(saved.url, { name: "Comes and goes" });
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
  const changing = await host();
  const gateway_id = await register(changing.url);
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

describe("which host is meant", () => {
  test("is said by address before gateway, by gateway before board", async () => {
    const [one, two] = [await host(), await host()];
    const gateway_id = await register(one.url);
    const both = { gateway_id, board_id: home.board_id };
    expect((await status({ ...both, gateway_url: two.url, gateway_token: TOKEN })).body.gateway_url).toBe(two.url);
    expect((await status(both)).body.gateway_url).toBe(one.url);
    expect((await status({ board_id: home.board_id })).body.gateway_url).toBe(gateway.url);
  });

  test("is the organization's only gateway when nothing is said, and must be said when there are several or none", async () => {
    const refused = [422, { detail: "board_id, gateway_id or gateway_url is required" }];
    const { token } = await world.person("starter");
    const none = await status({}, token);
    expect([none.status, none.body]).toEqual(refused);
    const only = await host();
    await register(only.url, {}, token);
    expect((await status({ gateway_url: " ", gateway_token: "" }, token)).body).toMatchObject({
      connected: true,
      gateway_url: only.url,
    });
    await register((await host()).url, {}, token);
    const several = await status({}, token);
    expect([several.status, several.body]).toEqual(refused);
  });

  test.each(["ftp://host", "host:18789", "ws://", "nonsense", "ws://ho st", "javascript:alert(1)"])(
    "cannot be said as %s",
    async (gateway_url) => {
      const answer = await status({ gateway_url });
      expect([answer.status, answer.body.detail]).toMatchObject([422, [{ type: "value_error", loc: ["query", "gateway_url"] }]]);
    },
  );

  test.each([
    ["gateway_id", "no-id", "uuid_parsing"],
    ["board_id", "no-id", "uuid_parsing"],
    ["gateway_allow_insecure_tls", "maybe", "bool_type"],
  ])("is not said by a %s like %s", async (name, value, type) => {
    const answer = await status({ gateway_url: gateway.url, [name]: value });
    expect([answer.status, answer.body.detail]).toMatchObject([422, [{ type, loc: ["query", name] }]]);
  });

  test("is not said with a token that is too long, which is not repeated", async () => {
    const answer = await status({ gateway_url: gateway.url, gateway_token: "S".repeat(1_001) });
    expect([answer.status, answer.body.detail]).toMatchObject([422, [{ type: "string_too_long", input: "***" }]]);
  });
});

describe("a saved token", () => {
  test("is used for its own address when its masked form is sent, and not otherwise", async () => {
    const [saved, other] = [await host(), await host()];
    await register(saved.url);
    saved.calls.length = 0;
    expect((await status({ gateway_url: saved.url, gateway_token: MASKED })).body.connected).toBe(true);
    expect((await status({ gateway_url: saved.url })).body.connected).toBe(false);
    expect((await status({ gateway_url: saved.url, gateway_token: "********" })).body.connected).toBe(false);
    expect((await status({ gateway_url: other.url, gateway_token: MASKED })).body.connected).toBe(false);
    expect(authOf(saved)).toEqual([undefined, "********"]);
    expect(authOf(other)).toEqual([MASKED]);
  });

  test("is never lent to another organization that knows the address, saved there or not", async () => {
    const shared = await host();
    await register(shared.url);
    shared.calls.length = 0;
    const masked = { gateway_url: shared.url, gateway_token: MASKED };
    expect((await status(masked, abroad.owner.token)).body.connected).toBe(false);
    await register(shared.url, { token: "their-token-456" }, abroad.owner.token);
    for (const query of [masked, { gateway_url: shared.url }, { ...masked, gateway_token: "********-456" }])
      expect((await status(query, abroad.owner.token)).body.connected).toBe(false);
    expect(authOf(shared)).not.toContain(TOKEN);
  });

  test("of two gateways saved with one address is that of the masked form", async () => {
    const shared = await host();
    await register(shared.url);
    await register(shared.url, { token: "newer-and-wrong" });
    expect((await status({ gateway_url: shared.url, gateway_token: MASKED })).body.connected).toBe(true);
    expect((await status({ gateway_url: shared.url, gateway_token: "********rong" })).body.connected).toBe(false);
  });
});

test("flags are those saved with the address, unless they are sent", async () => {
  const saved = await host({ insecure_control_ui: true });
  await register(saved.url, { disable_device_pairing: true });
  saved.calls.length = 0;
  await at(saved);
  await at(saved, { gateway_disable_device_pairing: false });
  const fresh = await host({ insecure_control_ui: true });
  await at(fresh, { gateway_disable_device_pairing: "yes" });
  expect([clientsOf(saved), clientsOf(fresh)]).toEqual([["gateway-client"], ["openclaw-control-ui"]]);
});

describe("tenancy", () => {
  test("a gateway or board of another organization does not exist, whatever else is named", async () => {
    const missing = [404, { detail: "Not Found" }];
    for (const query of [
      { gateway_id: abroad.gateway_id },
      { gateway_id: crypto.randomUUID() },
      { board_id: abroad.board_id },
      { board_id: crypto.randomUUID() },
      { board_id: abroad.board_id, gateway_id: home.gateway_id },
      { board_id: abroad.board_id, gateway_url: gateway.url, gateway_token: TOKEN },
    ]) {
      const answer = await status(query);
      expect([answer.status, answer.body], JSON.stringify(query)).toEqual(missing);
    }
    expect(gateway.calls).toEqual([]);
  });

  test("an admin without access to the board gets 404, a member 403", async () => {
    const admin = await world.person("admin");
    await world.join(admin, home.organization_id, "admin");
    expect((await status({ board_id: home.board_id }, admin.token)).status).toBe(404);
    expect((await status({ gateway_id: home.gateway_id }, admin.token)).body).toMatchObject({ connected: true });
    const member = await world.person("member");
    await world.join(member, home.organization_id, "member", { read: true, write: true });
    expect((await status({ board_id: home.board_id }, member.token)).body).toEqual({ detail: "Forbidden" });
  });

  test("a board of an organization that is not the active one leads nowhere", async () => {
    const guest = await world.person("guest of both");
    await world.join(guest, abroad.organization_id, "owner", { read: true, write: true });
    await world.join(guest, home.organization_id, "owner", { read: true, write: true });
    expect((await status({ board_id: abroad.board_id }, guest.token)).status).toBe(404);
    expect((await status({ board_id: home.board_id }, guest.token)).body.gateway_url).toBe(gateway.url);
  });

  test("a board never leads to another organization's gateway", async () => {
    const astray = await boardAt(gateway.url, "Astray");
    await world.db.update(boards).set({ gateway_id: abroad.gateway_id }).where(eq(boards.id, astray));
    const answer = await status({ board_id: astray });
    expect([answer.status, answer.body]).toEqual([422, { detail: "Board gateway_id is invalid" }]);
  });
});

test("no token is in an answer or a log line, and no query in a log line", async () => {
  const secret = "S3cr3t-in-the-query";
  world.log.length = 0;
  const down = await host();
  await down.stop();
  const answers = [
    await status({ gateway_url: gateway.url, gateway_token: secret }),
    await status({ gateway_url: down.url, gateway_token: secret }),
    await status({ gateway_url: "ftp://host", gateway_token: secret }),
    await status({ gateway_id: home.gateway_id }),
  ];
  expect(answers.map((answer) => answer.status)).toEqual([200, 200, 422, 200]);
  for (const told of [...answers.map(({ text }) => text), JSON.stringify(world.log)]) {
    expect(told).not.toContain(secret);
    expect(told).not.toContain(TOKEN);
  }
  expect(world.log.filter(({ event }) => event === "http.request")).toHaveLength(4);
  expect(JSON.stringify(world.log)).not.toContain("gateway_url");
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
