import { agents, organizations, skill_packs, users } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createWorld, type Tenant, type World } from "../support/world.ts";

const REFUSED = { detail: "Not authenticated" };
const ODD_BYTES = "t\u00e9k\u00ffn\u0080";

describe("AUTH_MODE=local", () => {
  const shared = "only-for-tests-".repeat(4);
  let world: World;

  beforeAll(async () => {
    world = await createWorld({ environment: { AUTH_MODE: "local", LOCAL_AUTH_TOKEN: ` ${shared} ` } });
  });
  afterAll(() => world.close());

  const get = (path: string, authorization: string) => world.call("GET", path, { headers: { authorization } });

  test("the shared token signs in one local user; the first request that needs an organization creates it once, with its skill packs", async () => {
    const first = await Promise.all([1, 2, 3].map(() => get("/api/v1/users/me", `Bearer ${shared}`)));
    for (const answer of first)
      expect(answer.body).toMatchObject({ clerk_user_id: "local-auth-user", email: "admin@home.local", name: "Local User" });
    expect(await world.db.select().from(users)).toHaveLength(1);
    expect(await world.db.select().from(organizations)).toEqual([]);

    const paths = ["/organizations/me", "/organizations/me/list", "/api/v1/auth/bootstrap", "/api/v1/boards"];
    for (const answer of await Promise.all(paths.map((path) => get(path, `Bearer ${shared}`)))) expect(answer.status).toBe(200);
    expect(await world.db.select().from(organizations)).toMatchObject([{ name: "Personal" }]);
    const packs = await world.db.select().from(skill_packs);
    expect(packs.map((pack) => pack.source_url).toSorted()).toEqual([
      "https://github.com/BrianRWagner/ai-marketing-skills",
      "https://github.com/sickn33/antigravity-awesome-skills",
    ]);
    const membership = await get("/organizations/me/member", `Bearer ${shared}`);
    expect(membership.body).toMatchObject({ role: "owner", all_boards_read: true, all_boards_write: true });
  });

  test.each(["Bearer", "bearer", "BEARER", "bEaReR  "])(
    "the Bearer scheme is accepted in any letter case: %j",
    async (scheme) => {
      expect((await get("/api/v1/users/me", `${scheme} ${shared}  `)).status).toBe(200);
    },
  );

  test.each([
    ["the token in upper case", { authorization: `Bearer ${shared.toUpperCase()}` }],
    ["a prefix of the token", { authorization: `Bearer ${shared.slice(0, -1)}` }],
    ["the token with a character appended", { authorization: `Bearer ${shared}x` }],
    ["a token with non-ASCII bytes", { authorization: `Bearer ${ODD_BYTES}` }],
    ["the token under the Basic scheme", { authorization: `Basic ${shared}` }],
    ["the token without a scheme", { authorization: shared }],
    ["the token in X-Agent-Token", { "x-agent-token": shared }],
    ["the token in a cookie", { cookie: `token=${shared}; __session=${shared}; authorization=Bearer ${shared}` }],
  ])("%s does not sign in the local user", async (_what, headers) => {
    const answer = await world.call("GET", "/api/v1/users/me", { headers });
    expect([answer.status, answer.body]).toEqual([401, REFUSED]);
  });
});

describe("AUTH_MODE=oidc", () => {
  let world: World;
  let home: Tenant;
  const memory = () => `/api/v1/boards/${home.board_id}/memory`;

  beforeAll(async () => {
    world = await createWorld();
    home = await world.tenant("home");
  });
  afterAll(() => world.close());

  test("an agent's token works in X-Agent-Token and as a bearer token, with white space around it", async () => {
    for (const headers of [
      { "x-agent-token": home.worker.token },
      { "x-agent-token": ` ${home.worker.token}\t` },
      { authorization: `Bearer ${home.worker.token}` },
      { authorization: `bearer   ${home.worker.token}` },
    ]) {
      const answer = await world.call("GET", "/api/v1/agent/healthz", { headers });
      expect([answer.status, answer.body.agent_id]).toEqual([200, home.worker.id]);
    }
  });

  test("X-Agent-Token takes precedence over a bearer token", async () => {
    const answer = await world.call("GET", "/api/v1/agent/healthz", { agent: home.worker.token, token: home.lead.token });
    expect(answer.body.agent_id).toBe(home.worker.id);
  });

  test("a route for people and agents tries a bearer token as a person's and then as an agent's", async () => {
    for (const credential of [{ token: home.owner.token }, { token: home.worker.token }, { agent: home.worker.token }])
      expect((await world.call("GET", memory(), credential)).status).toBe(200);
  });

  test("only X-Agent-Token counts when it is not blank; a blank one is ignored", async () => {
    const get = (agent: string, token: string) =>
      world.call("GET", memory(), { headers: { "x-agent-token": agent, authorization: `Bearer ${token}` } });
    expect((await get("unknown", home.owner.token)).status).toBe(401);
    expect((await get("unknown", home.worker.token)).status).toBe(401);
    expect((await get(home.owner.token, home.owner.token)).status).toBe(401);
    expect((await get(home.worker.token, "unknown")).status).toBe(200);
    expect((await get(" ", home.owner.token)).status).toBe(200);
    expect((await get("", home.worker.token)).status).toBe(200);
  });

  test.each([
    ["no credential", {}],
    ["a blank header", { authorization: " ", "x-agent-token": "  " }],
    ["a scheme without a value", { authorization: "Bearer" }],
    ["another scheme", { authorization: "Basic dXNlcjpwYXNz" }],
    ["an unknown token", { authorization: `Bearer ${"x".repeat(43)}` }],
    ["a bearer token with non-ASCII bytes", { authorization: `Bearer ${ODD_BYTES}` }],
    ["an agent token with non-ASCII bytes", { "x-agent-token": ODD_BYTES }],
    ["a JWT with non-ASCII bytes in its parts", { authorization: `Bearer ${ODD_BYTES}.${ODD_BYTES}.${ODD_BYTES}` }],
  ])("%s gets the same 401 on every kind of route", async (_what, headers) => {
    const lines = world.log.length;
    for (const path of ["/api/v1/users/me", "/organizations/me", "/api/v1/agent/healthz", memory(), "/api/v1/agents"]) {
      const answer = await world.call("GET", path, { headers });
      expect([answer.status, answer.body], path).toEqual([401, REFUSED]);
    }
    expect(world.log.slice(lines).filter((line) => line.level === "error")).toEqual([]);
  });

  test("an agent is refused while its deletion runs and after it is deleted", async () => {
    const body = { name: "Short-lived", board_id: home.board_id };
    const agent = (await world.call("POST", "/api/v1/agents", { token: home.owner.token, body })).body;
    const status = async () => (await world.call("GET", "/api/v1/agent/healthz", { agent: agent.auth_token })).status;
    expect(await status()).toBe(200);
    await world.db.update(agents).set({ status: "deleting" }).where(eq(agents.id, agent.id));
    expect(await status()).toBe(401);
    await world.db.update(agents).set({ status: "ready" }).where(eq(agents.id, agent.id));
    expect(await status()).toBe(200);
    await world.db.delete(agents).where(eq(agents.id, agent.id));
    expect(await status()).toBe(401);
  });
});
