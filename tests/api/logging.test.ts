import { spawn } from "node:child_process";
import path from "node:path";
import { text } from "node:stream/consumers";
import { createLog } from "@board/api/edge/log";
import { sql } from "drizzle-orm";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import type { CallOptions } from "../support/http.ts";
import { createWorld, type LogLine, openTestDatabase } from "../support/world.ts";

const world = await setupWorld();
const home = await world.tenant("home");

beforeEach(() => {
  world.log.length = 0;
});

const requests = () => world.log.filter((line) => line.event === "http.request");

const LOG_WAIT = { timeout: 10_000, interval: 10 };

/** Sends a request and waits for its log line, because a Lambda function may write the line after its answer. */
async function lineOf(method: string, path: string, options: CallOptions = {}): Promise<LogLine> {
  const request_id = crypto.randomUUID();
  await world.call(method, path, { ...options, headers: { "x-request-id": request_id } });
  return vi.waitUntil(() => requests().find((line) => line["request_id"] === request_id), LOG_WAIT);
}

test.each([
  ["GET", "/api/v1/boards", 200, "debug"],
  ["GET", "/nowhere", 404, "warn"],
  ["GET", "/api/v1/boards?limit=0", 422, "warn"],
  ["PUT", "/api/v1/boards", 405, "warn"],
])("%s %s (%i) is logged in one line of level %s", async (method, path, status, level) => {
  const line = await lineOf(method, path, { token: home.owner.token });
  expect(line).toMatchObject({
    level,
    event: "http.request",
    message: expect.any(String),
    trace_id: expect.any(String),
    method,
    path: path.split("?")[0],
    status,
    duration_ms: expect.any(Number),
    client_ip: "127.0.0.1",
    actor: expect.any(String),
  });
  expect(requests()).toEqual([line]);
});

test("the log line of a request names the kind and the id of its actor", async () => {
  const { id } = (await world.call("GET", "/api/v1/users/me", { token: home.owner.token })).body;
  const lines = [
    await lineOf("GET", "/api/v1/users/me", { token: home.owner.token }),
    await lineOf("GET", "/api/v1/agent/healthz", { agent: home.worker.token }),
    await lineOf("GET", "/api/v1/agent/healthz"),
    await lineOf("POST", "/api/v1/agents", { agent: home.worker.token, body: {} }),
  ];
  expect(lines.map((line) => [line["status"], line["actor"]])).toEqual([
    [200, `user:${id}`],
    [200, `agent:${home.worker.id}`],
    [401, "public"],
    [403, `agent:${home.worker.id}`],
  ]);
});

describe("the ids in every log line of a request", () => {
  const facts = ["organization_id", "board_id", "agent_id", "user_id"];
  const factsOf = (line: LogLine) => Object.fromEntries(facts.filter((name) => name in line).map((name) => [name, line[name]]));

  test("a person's request is logged with the person, the board in the path and, once known, its organization", async () => {
    const { token } = home.owner;
    const user_id = (await world.call("GET", "/api/v1/users/me", { token })).body.id;
    const { organization_id, board_id } = home;
    const board = `/api/v1/boards/${board_id.toUpperCase()}`;
    expect(factsOf(await lineOf("GET", "/api/v1/users/me", { token }))).toEqual({ user_id });
    expect(factsOf(await lineOf("GET", "/api/v1/tags", { token }))).toEqual({ organization_id, user_id });
    expect(factsOf(await lineOf("GET", `${board}/tasks`, { token }))).toEqual({ organization_id, board_id, user_id });
    expect(factsOf(await lineOf("GET", `${board}/tasks`, {}))).toEqual({ board_id });
    expect(factsOf(await lineOf("GET", "/api/v1/boards/nonsense/tasks", { token }))).toEqual({ user_id });
  });

  test("the logged organization is the board's organization, even when another organization of the person is active", async () => {
    const guest = await world.person("guest");
    await world.call("GET", "/api/v1/organizations/me", { token: guest.token });
    const own = (await world.call("GET", "/api/v1/organizations/me", { token: guest.token })).body.id;
    await world.join(guest, home.organization_id, "member", { read: true });
    await world.call("PATCH", "/api/v1/organizations/me/active", { token: guest.token, body: { organization_id: own } });
    const { token } = guest;
    const line = await lineOf("GET", `/api/v1/boards/${home.board_id}/tasks`, { token });
    expect(line).toMatchObject({ status: 200, organization_id: home.organization_id, board_id: home.board_id });
  });

  test("an agent's request is logged with the agent, its organization and its board", async () => {
    const { organization_id, board_id } = home;
    const agent = home.worker.token;
    const expected = { organization_id, board_id, agent_id: home.worker.id };
    expect(factsOf(await lineOf("GET", "/api/v1/agent/healthz", { agent }))).toEqual(expected);
    expect(factsOf(await lineOf("GET", `/api/v1/agent/boards/${board_id}/tasks`, { agent }))).toEqual(expected);
    expect(factsOf(await lineOf("GET", "/api/v1/agent/boards", { agent: "wrong-token" }))).toEqual({});
    expect(world.log.find((line) => line.event === "auth.failed")).toMatchObject({
      token_prefix: "wrong-",
      path: "/api/v1/agent/boards",
    });
  });
});

test("health checks are not logged", async () => {
  for (const path of ["/health", "/healthz", "/readyz", "/healthz/"]) await world.call("GET", path);
  expect(world.log).toEqual([]);
});

test("no log line holds a query string, a body, a token or a secret", async () => {
  const { token } = home.owner;
  const secret = "S3cr3t-in-the-request";
  const webhooks = `/api/v1/boards/${home.board_id}/webhooks`;
  await world.call("GET", `/api/v1/gateways?gateway_token=${secret}&limit=0`, { token });
  await world.call("GET", `/nowhere?token=${secret}`, { token });
  await world.call("POST", "/api/v1/gateways", {
    token,
    body: { name: "Unreachable", url: "ws://127.0.0.1:9", workspace_root: "/srv", token: secret },
  });
  await world.call("POST", "/api/v1/gateways", { token, body: { name: 5, token: { secret } } });
  await world.call("POST", webhooks, { token, body: { description: "Look", secret } });
  await world.call("POST", "/api/v1/boards", { token, raw: `{"name": "${secret}", ` });
  await vi.waitUntil(() => requests().length === 6, LOG_WAIT);
  const written = JSON.stringify(world.log);
  expect(written).not.toContain(secret);
  expect(written).not.toContain("limit=0");
  expect(written).not.toContain(token);
});

test("an unexpected error is logged with its stack and answered with 500 and every header, but not with its text", async () => {
  const database = await openTestDatabase();
  const broken = await createWorld({ database, environment: { CORS_ORIGINS: "https://app.example" } });
  await database.db.execute(sql`drop table users cascade`);
  const { token } = await broken.person("somebody");
  const headers = { origin: "https://app.example", "x-request-id": "trace" };
  const answer = await broken.call("GET", "/api/v1/users/me", { token, headers });
  expect([answer.status, answer.body]).toEqual([500, { detail: "Internal Server Error" }]);
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    "x-request-id": "trace",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "strict-origin-when-cross-origin",
    "access-control-allow-origin": "https://app.example",
    "access-control-expose-headers": expect.stringContaining("X-Request-Id"),
    vary: "Origin",
  });
  await vi.waitUntil(() => broken.log.some((line) => line.event === "http.request"), LOG_WAIT);
  const [unhandled, request] = broken.log.filter((line) => line.level === "error");
  expect(unhandled).toMatchObject({
    event: "unhandled",
    request_id: "trace",
    path: "/api/v1/users/me",
    stack: expect.stringContaining("at "),
  });
  expect(request).toMatchObject({ event: "http.request", status: 500 });
  expect(JSON.stringify(broken.log)).not.toContain("somebody");
  await broken.close();
  await database.close();
});

test("log lines are JSON with timestamp, level, event and message, from LOG_LEVEL upwards", () => {
  const written: string[] = [];
  const log = createLog("info", {}, { write: (line) => void written.push(line) });
  log.debug("quiet", "Not written");
  log.warn("loud", "Written", { request_id: "trace" });
  expect(written.map((line) => JSON.parse(line))).toEqual([
    {
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      level: "warn",
      event: "loud",
      message: "Written",
      request_id: "trace",
    },
  ]);
});

test("a log line is written before the call returns, since a sandbox may be frozen or killed right after", async () => {
  const program = `
    import { createLog } from "@board/api/edge/log";
    const log = createLog("info");
    for (let n = 1; n <= 3; n++) log.info("line", String(n));
    process.kill(process.pid, "SIGKILL");`;
  const cwd = path.resolve(import.meta.dirname, "../../packages/local");
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    cwd,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const written = await text(child.stdout);
  expect(
    written
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).message),
  ).toEqual(["1", "2", "3"]);
});
