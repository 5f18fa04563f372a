import { pbkdf2Sync } from "node:crypto";
import { agents } from "@board/core/schema/all-tables";
import { beforeEach, expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { createWorld } from "../support/world.ts";

const LIMIT = 3;
const MINUTE_MS = 60_000;
const scans = (statement: string) => statement.includes('"agent_token_lookup" is null');

const world = await setupWorld({
  environment: { AUTH_FAILURES_PER_MINUTE: String(LIMIT), TRUSTED_PROXIES: "10.0.0.0/8" },
  socketAddress: () => "10.0.0.1",
});
const home = await world.tenant("home");

/** Each test starts at the beginning of a minute, because the limit is counted per clock minute. */
beforeEach(() => world.elapse(MINUTE_MS - (world.now().getTime() % MINUTE_MS)));

let addresses = 0;
/** Returns a client with an address that no other test uses. */
function client() {
  const address = `203.0.113.${++addresses}`;
  return (path: string, headers: Record<string, string>) =>
    world.call("GET", path, { headers: { ...headers, "x-forwarded-for": address } });
}
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const memory = () => `/api/v1/boards/${home.board_id}/memory`;

test.each([
  ["a person's token", () => "/api/v1/users/me", bearer("wrong-token")],
  ["an agent's token in X-Agent-Token", () => "/api/v1/agent/healthz", { "x-agent-token": "wrong-token" }],
  ["an agent's bearer token", () => "/api/v1/agent/healthz", bearer("wrong-token")],
  ["a bearer token on a route for people and agents", memory, bearer("wrong-token")],
])(
  "after too many failed attempts with %s in a minute, the next one gets 429 and Retry-After",
  async (_credential, path, headers) => {
    const from = client();
    for (let attempt = 1; attempt <= LIMIT; attempt++) expect((await from(path(), headers)).status).toBe(401);
    const limited = await from(path(), headers);
    expect([limited.status, limited.body]).toEqual([429, { detail: "Too Many Requests" }]);
    const seconds = limited.headers.get("retry-after") ?? "";
    expect(seconds).toMatch(/^\d+$/);
    expect(Number(seconds)).toBeGreaterThan(0);
    expect(Number(seconds)).toBeLessThanOrEqual(60);
  },
);

test("failed attempts of people and agents count together for each client address", async () => {
  const from = client();
  await from("/api/v1/users/me", bearer("wrong-token"));
  await from("/api/v1/agent/healthz", { "x-agent-token": "wrong-token" });
  await from(memory(), bearer("wrong-token"));
  expect((await from("/api/v1/users/me", bearer("wrong-token"))).status).toBe(429);
  expect((await client()("/api/v1/users/me", bearer("wrong-token"))).status).toBe(401);
});

test("failed attempts from all IPv6 addresses of one /64 network count together", async () => {
  const from = (address: string) =>
    world.call("GET", "/api/v1/users/me", { headers: { ...bearer("wrong-token"), "x-forwarded-for": address } });
  const addresses = ["2001:db8:0:7::1", "2001:db8::7:0:0:0:2", "2001:0db8:0000:0007:ffff:ffff:ffff:ffff"];
  for (const address of addresses) expect((await from(address)).status).toBe(401);
  expect((await from("2001:DB8:0:7:1:2:3:4")).status).toBe(429);
  expect((await from("2001:db8:0:8::1")).status).toBe(401);
  expect((await from("2001:db8::1")).status).toBe(401);
});

test("a valid credential is never limited and never counted", async () => {
  const from = client();
  for (let attempt = 1; attempt <= LIMIT + 2; attempt++) {
    expect((await from("/api/v1/users/me", bearer(home.owner.token))).status).toBe(200);
    expect((await from("/api/v1/agent/healthz", bearer(home.worker.token))).status).toBe(200);
    expect((await from(memory(), bearer(home.worker.token))).status).toBe(200);
  }
  for (let attempt = 1; attempt <= LIMIT; attempt++)
    expect((await from("/api/v1/agent/healthz", bearer("wrong-token"))).status).toBe(401);
  expect((await from("/api/v1/agent/healthz", bearer("wrong-token"))).status).toBe(429);
  expect((await from("/api/v1/users/me", bearer(home.owner.token))).status).toBe(200);
  expect((await from("/api/v1/agent/healthz", { "x-agent-token": home.worker.token })).status).toBe(200);
});

test("a missing credential is refused without being counted", async () => {
  const from = client();
  const absent = [{}, { authorization: "" }, { authorization: "Bearer " }, { "x-agent-token": "  " }];
  for (const headers of [...absent, ...absent]) expect((await from(memory(), headers)).status).toBe(401);
  expect((await from(memory(), bearer("wrong-token"))).status).toBe(401);
});

test("the count of failed attempts starts from zero in the next minute", async () => {
  const from = client();
  for (let attempt = 0; attempt <= LIMIT; attempt++) await from("/api/v1/users/me", bearer("wrong-token"));
  const limited = await from("/api/v1/users/me", bearer("wrong-token"));
  expect(limited.status).toBe(429);
  world.elapse(Number(limited.headers.get("retry-after")) * 1000);
  expect((await from("/api/v1/users/me", bearer("wrong-token"))).status).toBe(401);
});

test("the first sign-in of an imported agent is no failure, and an attempt over the limit is not compared with imported agents", async () => {
  const from = client();
  for (let number = 0; number < LIMIT + 2; number++) {
    const token = `imported-token-${number}`;
    const hash = pbkdf2Sync(token, "salt", 1_000, 32, "sha256").toString("base64url");
    const agent_token_hash = `pbkdf2_sha256$1000$${Buffer.from("salt").toString("base64url")}$${hash}`;
    await world.db
      .insert(agents)
      .values({ gateway_id: home.gateway_id, board_id: home.board_id, name: token, status: "ready", agent_token_hash });
    expect((await from("/api/v1/agent/healthz", { "x-agent-token": token })).status).toBe(200);
  }
  for (let attempt = 1; attempt <= LIMIT; attempt++)
    expect((await from("/api/v1/agent/healthz", bearer("wrong-token"))).status).toBe(401);
  world.statements.length = 0;
  expect((await from("/api/v1/agent/healthz", bearer("wrong-token"))).status).toBe(429);
  expect(world.statements.filter(scans)).toEqual([]);
});

test("AUTH_FAILURES_PER_MINUTE=0 switches the limit off", async () => {
  const unlimited = await createWorld({ environment: { AUTH_FAILURES_PER_MINUTE: "0" } });
  for (let attempt = 0; attempt < 25; attempt++)
    expect((await unlimited.call("GET", "/api/v1/agent/healthz", { agent: "wrong-token" })).status).toBe(401);
  await unlimited.close();
});

test("no log line holds a credential; a failed agent token shows only its first six characters", async () => {
  const from = client();
  world.log.length = 0;
  await from("/api/v1/agent/healthz", { "x-agent-token": "Sup3rSecretAgentToken" });
  await from(memory(), bearer("An0therSecretToken"));
  await from("/api/v1/users/me", bearer("Pers0nalSecretToken"));
  await from("/api/v1/users/me", bearer(home.owner.token));
  await from("/api/v1/agent/healthz", bearer(home.worker.token));
  const written = JSON.stringify(world.log);
  for (const secret of ["Sup3rSe", "An0ther", "Pers0n", home.owner.token.slice(0, 30), home.worker.token.slice(0, 7)])
    expect(written).not.toContain(secret);
  const failures = world.log.filter((line) => line.event === "auth.failed");
  expect(failures.map((line) => line["token_prefix"])).toEqual(["Sup3rS", "An0the", undefined]);
});
