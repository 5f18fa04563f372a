import { boards } from "@board/core/schema/all-tables";
import type { FakeGateway } from "../support/fake-gateway/server.ts";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { MASKED, startHost, startTwoOrganizations, TOKEN } from "./two-organizations.ts";
import { setup } from "../support/fixtures.ts";

const neighbours = await setup(startTwoOrganizations());
const { world, gateway, home, abroad } = neighbours;

beforeEach(() => {
  gateway.calls.length = 0;
});

type Query = Record<string, string | boolean>;
const asked = (query: Query) =>
  new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]));
const status = (query: Query = {}, token = home.owner.token) =>
  world.call("GET", `/api/v1/gateway/status?${asked(query)}`, { token });
const at = ({ url }: { url: string }, more: Query = {}) => status({ gateway_url: url, gateway_token: TOKEN, ...more });
const authOf = ({ calls }: FakeGateway) =>
  calls.filter(({ method }) => method === "connect").map(({ params }) => (params as { auth?: { token: string } }).auth?.token);
const clientsOf = ({ calls }: FakeGateway) =>
  calls.filter(({ method }) => method === "connect").map(({ params }) => (params as { client: { id: string } }).client.id);

describe("which host the status is read from", () => {
  test("an address takes precedence over a gateway, and a gateway over a board", async () => {
    const [one, two] = [await startHost(), await startHost()];
    const gateway_id = await neighbours.register(one.url);
    const both = { gateway_id, board_id: home.board_id };
    expect((await status({ ...both, gateway_url: two.url, gateway_token: TOKEN })).body.gateway_url).toBe(two.url);
    expect((await status(both)).body.gateway_url).toBe(one.url);
    expect((await status({ board_id: home.board_id })).body.gateway_url).toBe(gateway.url);
  });

  test("the organization's only gateway is the default, and with several or none the host must be named", async () => {
    const refused = [422, { detail: "board_id, gateway_id or gateway_url is required" }];
    const { token } = await world.person("starter");
    const none = await status({}, token);
    expect([none.status, none.body]).toEqual(refused);
    const only = await startHost();
    await neighbours.register(only.url, {}, token);
    expect((await status({ gateway_url: " ", gateway_token: "" }, token)).body).toMatchObject({
      connected: true,
      gateway_url: only.url,
    });
    await neighbours.register((await startHost()).url, {}, token);
    const several = await status({}, token);
    expect([several.status, several.body]).toEqual(refused);
  });

  test.each(["ftp://host", "host:18789", "ws://", "nonsense", "ws://ho st", "javascript:alert(1)"])(
    "the address %s is refused",
    async (gateway_url) => {
      const answer = await status({ gateway_url });
      expect([answer.status, answer.body.detail]).toMatchObject([422, [{ type: "value_error", loc: ["query", "gateway_url"] }]]);
    },
  );

  test.each([
    ["gateway_id", "no-id", "uuid_parsing"],
    ["board_id", "no-id", "uuid_parsing"],
    ["gateway_allow_insecure_tls", "maybe", "bool_type"],
  ])("the parameter %s=%s is refused", async (name, value, type) => {
    const answer = await status({ gateway_url: gateway.url, [name]: value });
    expect([answer.status, answer.body.detail]).toMatchObject([422, [{ type, loc: ["query", name] }]]);
  });

  test("a token that is too long is refused, and the error does not repeat it", async () => {
    const answer = await status({ gateway_url: gateway.url, gateway_token: "S".repeat(1_001) });
    expect([answer.status, answer.body.detail]).toMatchObject([422, [{ type: "string_too_long", input: "***" }]]);
  });
});

describe("a saved token in status requests", () => {
  test("a saved token is used only for the address of its gateway, and only when its masked form is sent", async () => {
    const [saved, other] = [await startHost(), await startHost()];
    await neighbours.register(saved.url);
    saved.calls.length = 0;
    expect((await status({ gateway_url: saved.url, gateway_token: MASKED })).body.connected).toBe(true);
    expect((await status({ gateway_url: saved.url })).body.connected).toBe(false);
    expect((await status({ gateway_url: saved.url, gateway_token: "********" })).body.connected).toBe(false);
    expect((await status({ gateway_url: other.url, gateway_token: MASKED })).body.connected).toBe(false);
    expect(authOf(saved)).toEqual([undefined, "********"]);
    expect(authOf(other)).toEqual([MASKED]);
  });

  test("a saved token is never used for another organization that names the same address, whether or not it is saved there", async () => {
    const shared = await startHost();
    await neighbours.register(shared.url);
    shared.calls.length = 0;
    const masked = { gateway_url: shared.url, gateway_token: MASKED };
    expect((await status(masked, abroad.owner.token)).body.connected).toBe(false);
    await neighbours.register(shared.url, { token: "their-token-456" }, abroad.owner.token);
    for (const query of [masked, { gateway_url: shared.url }, { ...masked, gateway_token: "********-456" }])
      expect((await status(query, abroad.owner.token)).body.connected).toBe(false);
    expect(authOf(shared)).not.toContain(TOKEN);
  });

  test("when two gateways have the same address, the masked form selects the token", async () => {
    const shared = await startHost();
    await neighbours.register(shared.url);
    await neighbours.register(shared.url, { token: "newer-and-wrong" });
    expect((await status({ gateway_url: shared.url, gateway_token: MASKED })).body.connected).toBe(true);
    expect((await status({ gateway_url: shared.url, gateway_token: "********rong" })).body.connected).toBe(false);
  });
});

test("the flags of the saved gateway apply unless the request sends its own", async () => {
  const saved = await startHost({ allow_insecure_control_ui: true });
  await neighbours.register(saved.url, { disable_device_pairing: true });
  saved.calls.length = 0;
  await at(saved);
  await at(saved, { gateway_disable_device_pairing: false });
  const fresh = await startHost({ allow_insecure_control_ui: true });
  await at(fresh, { gateway_disable_device_pairing: "yes" });
  expect([clientsOf(saved), clientsOf(fresh)]).toEqual([["gateway-client"], ["openclaw-control-ui"]]);
});

describe("tenancy of status requests", () => {
  test("a gateway or board of another organization is not found, whatever the other parameters are", async () => {
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

  test("a board never resolves to a gateway of another organization", async () => {
    const foreign_board = await neighbours.addBoardAt(gateway.url, "Astray");
    await world.db.update(boards).set({ gateway_id: abroad.gateway_id }).where(eq(boards.id, foreign_board));
    const answer = await status({ board_id: foreign_board });
    expect([answer.status, answer.body]).toEqual([422, { detail: "Board gateway_id is invalid" }]);
  });
});

test("no token is in a response or a log line, and no query is in a log line", async () => {
  const secret = "S3cr3t-in-the-query";
  world.log.length = 0;
  const down = await startHost();
  await down.stop();
  const answers = [
    await status({ gateway_url: gateway.url, gateway_token: secret }),
    await status({ gateway_url: down.url, gateway_token: secret }),
    await status({ gateway_url: "ftp://host", gateway_token: secret }),
    await status({ gateway_id: home.gateway_id }),
  ];
  expect(answers.map((answer) => answer.status)).toEqual([200, 200, 422, 200]);
  for (const output of [...answers.map(({ text }) => text), JSON.stringify(world.log)]) {
    expect(output).not.toContain(secret);
    expect(output).not.toContain(TOKEN);
  }
  expect(world.log.filter(({ event }) => event === "http.request")).toHaveLength(4);
  expect(JSON.stringify(world.log)).not.toContain("gateway_url");
});
