import { expect, onTestFinished, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import type { CallOptions } from "../support/http.ts";
import { openPullBoard } from "../support/pull-board.ts";
import { createWorld } from "../support/world.ts";
import { connectMcp } from "./support.ts";

/** The clock is stopped, so that all attempts of a test are made in one minute. */
const started = new Date();
const world = await setupWorld({
  clock: () => started,
  environment: { BASE_URL: "https://board.example", AUTH_FAILURES_PER_MINUTE: "3" },
});
const board = await openPullBoard(world, "owner");

const METADATA = "https://board.example/.well-known/oauth-protected-resource/mcp";
const LIST = { jsonrpc: "2.0", id: 1, method: "tools/list" };
const JSON_HEADERS = { accept: "application/json, text/event-stream" };
const post = ({ headers, ...options }: CallOptions = {}) =>
  world.call("POST", "/mcp", { body: LIST, headers: { ...JSON_HEADERS, ...headers }, ...options });

test("a request without a credential gets 401 and the address of the sign-in metadata, which names the issuer", async () => {
  const { status, headers, body } = await post();
  expect([status, body]).toEqual([401, { detail: "Not authenticated" }]);
  expect(headers.get("www-authenticate")).toBe(`Bearer resource_metadata="${METADATA}"`);
  for (const path of ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"])
    expect((await world.call("GET", path)).body).toEqual({
      resource: "https://board.example/mcp",
      resource_name: "Board coordination",
      bearer_methods_supported: ["header"],
      authorization_servers: [world.identities.issuer],
    });
});

test("a 401 of any other operation does not name the sign-in metadata", async () => {
  expect((await world.call("GET", "/api/v1/users/me")).headers.get("www-authenticate")).toBe("Bearer");
});

test("a service in local mode names no identity provider", async () => {
  const local = await createWorld({ environment: { AUTH_MODE: "local", LOCAL_AUTH_TOKEN: "t".repeat(60) } });
  const { body } = await local.call("GET", "/.well-known/oauth-protected-resource");
  expect(body).not.toHaveProperty("authorization_servers");
  await local.close();
});

test("agents sign in with X-Agent-Token or as a bearer, and people with their token", async () => {
  const { owner, worker } = board;
  for (const options of [{ agent: worker.token }, { token: worker.token }, { token: owner.token }]) {
    const { status, headers, body } = await post(options);
    expect(status).toBe(200);
    expect(headers.get("content-type")).toMatch(/^application\/json/);
    expect(body.result.tools.length).toBeGreaterThan(5);
  }
});

test("without an audience, tokens of people are refused with the reason, and tokens of agents and keys are accepted", async () => {
  const open = await createWorld({ environment: { OIDC_AUDIENCE: "" } });
  onTestFinished(() => open.close());
  const { owner, worker, call } = await openPullBoard(open, "owner");
  const send = (options: CallOptions) => open.call("POST", "/mcp", { body: LIST, headers: JSON_HEADERS, ...options });
  const refused = await send({ token: owner.token });
  expect([refused.status, refused.body.detail]).toEqual([401, expect.stringContaining("OIDC_AUDIENCE is not set")]);
  expect(refused.headers.get("www-authenticate")).toContain("resource_metadata=");
  expect((await send({ token: worker.token })).status).toBe(200);
  const { key } = (await call("POST", "/api/v1/keys", owner.token, { name: "Script", access: "read" })).body;
  expect((await send({ token: key })).status).toBe(200);
});

test("a token of a person for another audience is refused", async () => {
  const token = await world.identities.token("owner", { aud: "another service" });
  expect((await post({ token })).status).toBe(401);
  world.elapse(60_000);
});

test("failed sign-ins count against the address as on the API, and above the limit get 429", async () => {
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 5; attempt++) statuses.push((await post({ agent: "x".repeat(43) })).status);
  expect(statuses).toEqual([401, 401, 401, 429, 429]);
  expect((await world.call("GET", "/api/v1/agent/inbox", { agent: "x".repeat(43) })).status).toBe(429);
  world.elapse(60_000);
});

test("a request from a page of another site is refused, and from a page of a listed origin or of the service it is accepted", async () => {
  const { worker } = board;
  const from = async (origin: string) => (await post({ agent: worker.token, headers: { origin } })).status;
  expect(await from("https://evil.example")).toBe(403);
  expect(await from("null")).toBe(403);
  expect(await from("https://board.example")).toBe(200);
});

test("only POST is served, so that no session or stream stays open", async () => {
  for (const method of ["GET", "DELETE"]) {
    const { status, headers } = await world.call(method, "/mcp", { agent: board.worker.token });
    expect([status, headers.get("allow")]).toEqual([405, "POST"]);
  }
});

test("a body that is not a message of the protocol gets a 4xx", async () => {
  const { worker } = board;
  const json = { "content-type": "application/json" };
  const refused: CallOptions[] = [
    { raw: "{", headers: json },
    { raw: "", headers: json },
    { raw: "\u0000", headers: json },
    { raw: "{}", headers: { "content-type": "text/plain" } },
    { body: [LIST, LIST] },
    { body: [] },
    { body: null },
    { body: { ...LIST, method: "tools/nothing" } },
    { body: { ...LIST, params: { name: 1 }, method: "tools/call" } },
    { raw: `{"a":"${"x".repeat(1_100_000)}"}`, headers: json },
  ];
  for (const options of refused) {
    const { status, body } = await post({
      agent: worker.token,
      ...options,
      body: options.raw === undefined ? options.body : undefined,
    });
    expect(status === 200 ? body.error.code : status, JSON.stringify(options).slice(0, 100)).toSatisfy(
      (code: number) => code < 0 || (code >= 400 && code < 500),
    );
  }
});

test("a tool that is not in the client's list of tools cannot be called", async () => {
  const { client } = await connectMcp(world, board.worker.token);
  await expect(client.callTool({ name: "decide_approval", arguments: {} })).rejects.toThrow(/not found/);
});

test("a removed agent's next call is refused", async () => {
  const { owner, addAgent, call } = board;
  const gone = await addAgent("Gone");
  const { use } = await connectMcp(world, gone.token);
  expect((await use("check_inbox")).refused).toBe(false);
  await call("DELETE", `/api/v1/agents/${gone.id}`, owner.token);
  await expect(use("check_inbox")).rejects.toThrow(/Not authenticated|401/);
});
