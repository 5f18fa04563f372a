import { agents, gateways } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";

/** Nothing listens on this port, so the host is down. */
const DOWN = "ws://127.0.0.1:9";
const TOKEN = "gateway-token-S3cr3t";
const MASKED = "********cr3t";

const world = await setupWorld();
const home = await world.tenant("home");
const abroad = await world.tenant("abroad");

const call = (method: string, path: string, body?: unknown) =>
  world.call(method, `/api/v1/gateways${path}`, { token: home.owner.token, body });
const create = (changed: object = {}) => call("POST", "", { name: "Host", url: DOWN, workspace_root: "/srv/agents", ...changed });
const mainOf = async (gateway_id: string) =>
  (await world.db.select().from(agents).where(eq(agents.gateway_id, gateway_id))).filter((agent) => agent.board_id === null);

describe("a new gateway", () => {
  test("a new gateway is answered with all its fields, and its token is masked", async () => {
    const made = await create({
      name: " Host ",
      url: ` ${DOWN} `,
      workspace_root: " ~/agents ",
      token: ` ${TOKEN} `,
      version: "9",
      connected: true,
    });
    expect([made.status, made.body]).toEqual([
      200,
      {
        id: expect.any(String),
        organization_id: home.organization_id,
        name: "Host",
        kind: "openclaw",
        url: DOWN,
        workspace_root: "~/agents",
        disable_device_pairing: false,
        allow_insecure_tls: false,
        token: MASKED,
        has_token: true,
        version: null,
        connected: false,
        last_error: expect.any(String),
        sync_interval_minutes: null,
        created_at: expect.any(String),
        updated_at: made.body.created_at,
      },
    ]);
    expect((await call("GET", `/${made.body.id}`)).body).toEqual(made.body);
  });

  test.each([
    [undefined, null],
    [null, null],
    ["", null],
    ["  ", null],
    ["1234567", "********"],
    ["12345678", "********5678"],
  ])("a new gateway with the token %j shows %j", async (token, shown) => {
    expect((await create({ token })).body).toMatchObject({ token: shown, has_token: shown !== null });
  });

  test.each(["ws://127.0.0.1:9", "wss://127.0.0.1:9/path?x=1", "http://127.0.0.1:9", "HTTPS://127.0.0.1:9"])(
    "a new gateway accepts the url %s and keeps it as it was sent",
    async (url) => {
      expect((await create({ url })).body.url).toBe(url);
    },
  );

  test.each(["ftp://host", "host:18789", "ws://", "//host", "javascript:alert(1)", "ws", "ws://ho st"])(
    "a new gateway refuses the url %s",
    async (url) => {
      const answer = await create({ url });
      expect([answer.status, answer.body.detail]).toMatchObject([422, [{ type: "value_error", loc: ["body", "url"] }]]);
    },
  );

  test.each(["name", "url", "workspace_root"])(
    "a gateway needs a %s that is not blank, at creation and at each change",
    async (field) => {
      for (const blank of ["", "  ", null]) {
        expect((await create({ [field]: blank })).body.detail).toMatchObject([{ loc: ["body", field] }]);
        expect((await call("PATCH", `/${home.gateway_id}`, { [field]: blank })).body.detail).toMatchObject([
          { loc: ["body", field] },
        ]);
      }
      expect((await create({ [field]: undefined })).body.detail).toMatchObject([{ type: "missing", loc: ["body", field] }]);
    },
  );
});

test("a token is encrypted at rest and appears in no response and no log line", async () => {
  const made = await create({ token: TOKEN });
  const list = await call("GET", "?limit=200");
  const patched = await call("PATCH", `/${made.body.id}`, { name: "Renamed" });
  for (const answer of [made, list, patched]) expect(answer.text).not.toContain(TOKEN.slice(0, -4));
  const [row] = await world.db.select().from(gateways).where(eq(gateways.id, made.body.id));
  expect(row?.token_sealed?.length).toBeGreaterThan(TOKEN.length);
  for (const form of [TOKEN, Buffer.from(TOKEN).toString("hex"), Buffer.from(TOKEN).toString("base64")]) {
    expect(Buffer.from(row!.token_sealed!).toString("latin1")).not.toContain(form);
    expect(JSON.stringify(row)).not.toContain(form);
  }
  expect(JSON.stringify(world.log)).not.toContain(TOKEN);
  const [twin] = await world.db
    .select()
    .from(gateways)
    .where(eq(gateways.id, (await create({ token: TOKEN })).body.id));
  expect(Buffer.from(twin!.token_sealed!).equals(Buffer.from(row!.token_sealed!))).toBe(false);
});

describe("changing a gateway", () => {
  test("a change of a gateway without effect writes nothing, and a masked token in a change keeps the stored token", async () => {
    const made = (await create({ token: TOKEN })).body;
    const { id, name, url, workspace_root } = made;
    for (const same of [
      {},
      { unknown: 1 },
      { token: MASKED },
      { token: TOKEN },
      { name, url: ` ${url}`, workspace_root, allow_insecure_tls: false },
    ])
      expect((await call("PATCH", `/${id}`, same)).body).toEqual(made);
    const short = (await create({ token: "short" })).body;
    expect((await call("PATCH", `/${short.id}`, { token: "********" })).body).toEqual(short);
  });

  test("a change of a gateway can replace or remove the token", async () => {
    const { id } = (await create({ token: TOKEN })).body;
    const token = async (sent: string | null) => (await call("PATCH", `/${id}`, { token: sent })).body;
    expect(await token("another-token")).toMatchObject({ token: "********oken", has_token: true });
    expect(await token("********xxxx")).toMatchObject({ token: "********xxxx" });
    expect(await token(null)).toMatchObject({ token: null, has_token: false });
    await token(TOKEN);
    expect(await token(" ")).toMatchObject({ token: null, has_token: false });
  });

  test("a change of a gateway's name, root and flags is stored", async () => {
    const { id } = (await create()).body;
    const changed = { name: "New", workspace_root: "~", disable_device_pairing: true, allow_insecure_tls: true };
    expect((await call("PATCH", `/${id}`, changed)).body).toMatchObject(changed);
    expect((await call("GET", `/${id}`)).body).toMatchObject(changed);
  });
});

describe("the main agent of a gateway", () => {
  test("a gateway is created with one main agent, which has the profile and session of a main agent", async () => {
    const { id } = (await create({ name: "Rack" })).body;
    const [main, ...others] = await mainOf(id);
    expect(others).toEqual([]);
    const shown = (await world.call("GET", `/api/v1/agents/${main!.id}`, { token: home.owner.token })).body;
    expect(shown).toMatchObject({
      name: "Rack Gateway Agent",
      status: "provisioning",
      board_id: null,
      is_gateway_main: true,
      is_board_lead: false,
      openclaw_session_id: `agent:mc-gateway-${id}:main`,
      identity_profile: { role: "Gateway Agent", communication_style: "direct, concise, practical", emoji: ":compass:" },
    });
    expect(main).toMatchObject({
      agent_token_hash: expect.stringMatching(/^pbkdf2_sha256\$200000\$/),
      agent_token_lookup: expect.any(String),
    });
  });

  test("a change of the gateway recreates a missing main agent, and only a missing one", async () => {
    const { id } = (await create({ name: "Rack" })).body;
    const [before] = await mainOf(id);
    await call("PATCH", `/${id}`, { name: "Shelf" });
    const { agent_token_hash, agent_token_lookup } = before!;
    expect(await mainOf(id)).toMatchObject([
      { id: before!.id, agent_token_hash, agent_token_lookup, name: "Shelf Gateway Agent" },
    ]);
    await world.db.delete(agents).where(eq(agents.id, before!.id));
    expect((await call("PATCH", `/${id}`, {})).status).toBe(200);
    const [again, ...others] = await mainOf(id);
    expect(again).toMatchObject({ name: "Shelf Gateway Agent", openclaw_session_id: `agent:mc-gateway-${id}:main` });
    expect([again!.id === before!.id, others]).toEqual([false, []]);
  });
});

describe("deleting a gateway", () => {
  test("deleting a gateway is refused while a board or an agent of a board uses it", async () => {
    const detail = "Gateway is still used by boards or agents.";
    const { id } = (await create()).body;
    const body = { name: "Board", description: "A board", gateway_id: id };
    const board = (await world.call("POST", "/api/v1/boards", { token: home.owner.token, body })).body.id;
    for (const used of [id, home.gateway_id]) {
      const answer = await call("DELETE", `/${used}`);
      expect([answer.status, answer.body]).toEqual([409, { detail }]);
    }
    const moved = { gateway_id: home.gateway_id };
    await world.call("PATCH", `/api/v1/boards/${board}`, { token: home.owner.token, body: moved });
    expect((await call("DELETE", `/${id}`)).body).toEqual({ ok: true });
  });

  test("deleting a gateway also deletes its main agent, and deleting it again gives 404", async () => {
    const { id } = (await create()).body;
    expect((await call("DELETE", `/${id}`)).body).toEqual({ ok: true });
    expect(await mainOf(id)).toEqual([]);
    for (const method of ["GET", "PATCH", "DELETE"])
      expect((await call(method, `/${id}`, method === "PATCH" ? {} : undefined)).status).toBe(404);
  });
});

test("the list of gateways is newest first, paged, and limited to the active organization", async () => {
  const first = (await create({ name: "First" })).body;
  const second = (await create({ name: "Second" })).body;
  const page = (await call("GET", "?limit=2")).body;
  expect(page).toMatchObject({ items: [second, first], limit: 2, offset: 0 });
  const all = (await call("GET", "?limit=200")).body;
  expect([all.items.length, page.total]).toEqual([all.total, all.total]);
  expect(all.items.map((gateway: { id: string }) => gateway.id)).not.toContain(abroad.gateway_id);
});
