import { describe, expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { createWorld } from "../support/world.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const world = await setupWorld({ environment: { CORS_ORIGINS: "https://app.example, http://localhost:3000" } });
const home = await world.tenant("home");

/** One answer of each kind: success, refusal, not found, wrong method, bad input, public, text. */
const answers: [string, string, number][] = [
  ["GET", "/api/v1/boards", 200],
  ["GET", "/api/v1/agent/healthz", 401],
  ["GET", "/nowhere", 404],
  ["DELETE", "/api/v1/boards", 405],
  ["GET", "/api/v1/boards?limit=0", 422],
  ["GET", "/healthz", 200],
  ["GET", "/docs", 200],
  ["OPTIONS", "/api/v1/boards", 405],
];
const send = (method: string, path: string, headers: Record<string, string> = {}) =>
  world.call(method, path, { token: home.owner.token, headers });

describe("X-Request-Id", () => {
  test.each(answers)("the answer of %s %s (%i) repeats the client's request id", async (method, path, status) => {
    const answer = await send(method, path, { "x-request-id": "Trace_1.2-3" });
    expect([answer.status, answer.headers.get("x-request-id")]).toEqual([status, "Trace_1.2-3"]);
  });

  test("a request id that the client sends is kept if it has 1 to 128 safe characters, and otherwise replaced", async () => {
    const idFor = async (request_id: string) =>
      (await send("GET", "/healthz", { "x-request-id": request_id })).headers.get("x-request-id");
    for (const good of ["a", "x".repeat(128), "A-Z_a-z.0-9"]) expect(await idFor(good)).toBe(good);
    for (const bad of ["", "x".repeat(129), "x".repeat(6_000), "a b", "a,b", "a/b", "\u00e9", "<script>"])
      expect(await idFor(bad), bad).toMatch(UUID);
    expect(await idFor("")).not.toBe(await idFor(""));
  });
});

describe("security headers", () => {
  test.each(answers)("the answer of %s %s (%i) has the security headers", async (method, path, status) => {
    const { headers, ...answer } = await send(method, path);
    expect(answer.status).toBe(status);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("referrer-policy")).toBe("strict-origin-when-cross-origin");
    expect(headers.has("permissions-policy")).toBe(false);
  });

  test("settings can change, switch off and add security headers", async () => {
    const other = await createWorld({
      environment: {
        SECURITY_HEADER_X_CONTENT_TYPE_OPTIONS: " OFF ",
        SECURITY_HEADER_X_FRAME_OPTIONS: "SAMEORIGIN",
        SECURITY_HEADER_REFERRER_POLICY: "  ",
        SECURITY_HEADER_PERMISSIONS_POLICY: "camera=()",
      },
    });
    for (const path of ["/healthz", "/nowhere", "/api/v1/boards"]) {
      const { headers } = await other.call("GET", path);
      expect(headers.has("x-content-type-options")).toBe(false);
      expect(headers.get("x-frame-options")).toBe("SAMEORIGIN");
      expect(headers.get("referrer-policy")).toBe("strict-origin-when-cross-origin");
      expect(headers.get("permissions-policy")).toBe("camera=()");
    }
    await other.close();
  });
});

describe("CORS", () => {
  const corsOf = (headers: Headers) => [...headers].filter(([name]) => name.startsWith("access-control-"));

  test.each(answers)("a listed origin may read the answer of %s %s (%i)", async (method, path, status) => {
    for (const origin of ["https://app.example", "http://localhost:3000"]) {
      const answer = await send(method, path, { origin });
      expect(answer.status).toBe(status);
      expect(Object.fromEntries(corsOf(answer.headers))).toEqual({
        "access-control-allow-origin": origin,
        "access-control-allow-credentials": "true",
        "access-control-expose-headers":
          "X-Total-Count, X-Limit, X-Offset, X-Request-Id, Retry-After, ETag, Link, Idempotent-Replayed, Idempotent-Omitted, RateLimit-Policy, RateLimit, Preference-Applied",
      });
      expect(answer.headers.get("vary")).toContain("Origin");
    }
  });

  test("an unlisted origin gets the answer without CORS headers", async () => {
    for (const origin of ["https://app.example.evil.test", "https://evil.test", "null", "https://APP.example:8443"]) {
      const answer = await send("GET", "/api/v1/boards", { origin });
      expect([answer.status, corsOf(answer.headers)]).toEqual([200, []]);
    }
  });

  const preflight = (headers: Record<string, string>, path = "/api/v1/boards") => world.call("OPTIONS", path, { headers });

  test("a preflight needs no credential and allows the headers it asks for", async () => {
    const requested = {
      "access-control-request-method": "PATCH",
      "access-control-request-headers": "authorization, x-agent-token, x-odd",
    };
    const answer = await preflight({ origin: "https://app.example", ...requested });
    expect([answer.status, answer.text]).toEqual([200, "OK"]);
    expect(answer.headers.get("content-type")).toMatch(/^text\/plain/);
    expect(answer.headers.get("access-control-allow-origin")).toBe("https://app.example");
    expect(answer.headers.get("access-control-allow-credentials")).toBe("true");
    expect(answer.headers.get("access-control-allow-methods")).toBe("DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT");
    expect(answer.headers.get("access-control-allow-headers")).toBe("authorization, x-agent-token, x-odd");
    expect(answer.headers.get("access-control-max-age")).toBe("600");
    expect(answer.headers.get("vary")).toContain("Origin");
    expect(answer.headers.get("x-request-id")).toMatch(UUID);
    expect(answer.headers.get("x-frame-options")).toBe("DENY");
  });

  test("the preflight of an unlisted origin is refused", async () => {
    const answer = await preflight({ origin: "https://evil.test", "access-control-request-method": "GET" });
    expect([answer.status, answer.text, corsOf(answer.headers)]).toEqual([400, "Disallowed CORS origin", []]);
    expect(answer.headers.get("x-frame-options")).toBe("DENY");
  });

  test("no answer has CORS headers while no origin is configured", async () => {
    const other = await createWorld();
    const origin = "https://app.example";
    const plain = await other.call("GET", "/healthz", { headers: { origin } });
    expect([corsOf(plain.headers), plain.headers.get("vary")]).toEqual([[], null]);
    const preflighted = await other.call("OPTIONS", "/healthz", { headers: { origin, "access-control-request-method": "GET" } });
    expect([preflighted.status, corsOf(preflighted.headers)]).toEqual([405, []]);
    await other.close();
  });
});

describe("routing", () => {
  test.each([
    "/api/v1/boards",
    "/organizations/me",
    "/api/v1/organizations/me/list",
    "/api/tags",
    "/api/v1/tags",
    "/health",
    "/readyz",
  ])("%s answers the same with a trailing slash", async (path) => {
    const [plain, slashed] = [await send("GET", path), await send("GET", `${path}/`)];
    expect([slashed.status, slashed.text]).toEqual([200, plain.text]);
  });

  test("paths with ids and requests that write also accept a trailing slash", async () => {
    expect((await send("GET", `/api/v1/boards/${home.board_id}/`)).body.id).toBe(home.board_id);
    const made = await world.call("POST", "/api/v1/tags/", { token: home.owner.token, body: { name: "Slashed" } });
    expect(made.status).toBe(200);
  });

  test.each(["/healthz", "/api/v1/boards", "/api/v1/boards?limit=0", "/nowhere", "/docs"])(
    "HEAD %s returns the status and headers of GET without a body",
    async (path) => {
      const [get, head] = [await send("GET", path), await send("HEAD", path)];
      expect([head.status, head.text]).toEqual([get.status, ""]);
      for (const name of ["content-type", "x-frame-options"]) expect(head.headers.get(name)).toBe(get.headers.get(name));
    },
  );

  test.each([
    "/nowhere",
    "/api/v1",
    "/api/v1/nowhere",
    "/api/v1/boards/x/y/z",
    "/API/V1/boards",
    "/api/v1/boards/%E0%A4%A/x",
    "//nowhere",
  ])("the path %s is 404", async (path) => {
    const answer = await send("GET", path);
    expect([answer.status, answer.body]).toEqual([404, { detail: "Not Found" }]);
  });

  test.each([
    ["DELETE", "/api/v1/boards", "GET, HEAD, POST"],
    ["PUT", "/api/v1/boards/", "GET, HEAD, POST"],
    ["POST", "/api/v1/gateways/{id}", "DELETE, GET, HEAD, PATCH"],
    ["PUT", "/organizations/me", "DELETE, GET, HEAD, PATCH"],
    ["GET", "/api/v1/agent/heartbeat", "POST"],
    ["HEAD", "/api/v1/agent/heartbeat", "POST"],
    ["POST", "/health", "GET, HEAD"],
    // A function passes TRACE on under this name.
    ["X-TRACE", "/health", "GET, HEAD"],
  ])("%s %s is 405, and Allow lists the methods %s", async (method, path, allow) => {
    const answer = await send(method, path.replace("{id}", home.gateway_id));
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, allow]);
    expect(answer.text).toBe(method === "HEAD" ? "" : '{"detail":"Method Not Allowed"}');
  });
});
