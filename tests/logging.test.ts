import { createLog } from "@board/api/log";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { createWorld, openTemplate, type Tenant, type World } from "./support/world.ts";

let world: World;
let home: Tenant;

beforeAll(async () => {
  world = await createWorld();
  home = await world.tenant("home");
});
afterAll(() => world.close());
beforeEach(() => {
  world.log.length = 0;
});

const requests = () => world.log.filter((line) => line.event === "http.request");

test.each([
  ["GET", "/api/v1/boards", 200, "debug"],
  ["GET", "/nowhere", 404, "warn"],
  ["GET", "/api/v1/boards?limit=0", 422, "warn"],
  ["PUT", "/api/v1/boards", 405, "warn"],
])("%s %s (%i) is one line of level %s", async (method, path, status, level) => {
  await world.call(method, path, { token: home.owner.token, headers: { "x-request-id": "trace" } });
  expect(requests()).toEqual([
    {
      level,
      event: "http.request",
      message: expect.any(String),
      request_id: "trace",
      method,
      path: path.split("?")[0],
      status,
      duration_ms: expect.any(Number),
      client_ip: "127.0.0.1",
      actor: expect.any(String),
    },
  ]);
});

test("the line names kind and id of who called", async () => {
  const { id } = (await world.call("GET", "/api/v1/users/me", { token: home.owner.token })).body;
  await world.call("GET", "/api/v1/agent/healthz", { agent: home.worker.token });
  await world.call("GET", "/api/v1/agent/healthz");
  await world.call("POST", "/api/v1/agents", { agent: home.worker.token, body: {} });
  expect(requests().map((line) => [line["status"], line["actor"]])).toEqual([
    [200, `user:${id}`],
    [200, `agent:${home.worker.id}`],
    [401, "public"],
    [403, `agent:${home.worker.id}`],
  ]);
});

test("health is not logged", async () => {
  for (const path of ["/health", "/healthz", "/readyz", "/healthz/"]) await world.call("GET", path);
  expect(world.log).toEqual([]);
});

test("no line holds a query string, a body, a token or a secret", async () => {
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
  expect(requests()).toHaveLength(6);
  const written = JSON.stringify(world.log);
  expect(written).not.toContain(secret);
  expect(written).not.toContain("limit=0");
  expect(written).not.toContain(token);
});

test("an unexpected error is logged with its stack and answered as 500 with every header, its text kept back", async () => {
  const database = await openTemplate();
  const broken = await createWorld({ database, environment: { CORS_ORIGINS: "https://app.example" } });
  await database.close();
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
});

test("lines are JSON with timestamp, level, event and message, from the level of the settings on", () => {
  const written: string[] = [];
  const write = vi.spyOn(process.stdout, "write").mockImplementation((line) => written.push(String(line)) > 0);
  try {
    const log = createLog("info");
    log.debug("quiet", "Not written");
    log.warn("loud", "Written", { request_id: "trace" });
  } finally {
    write.mockRestore();
  }
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
