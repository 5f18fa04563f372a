import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { addTask } from "../support/task.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const home = await world.tenant("home");

const PROBLEM = "application/problem+json";

/** Sends a request twice, and returns its error as problem details and as plain JSON. */
async function bothForms(method: string, path: string, options: { token?: string; agent?: string; body?: unknown } = {}) {
  const plain = await world.call(method, path, options);
  const { headers, text } = await world.call(method, path, { ...options, headers: { accept: PROBLEM } });
  expect(headers.get("content-type")).toBe(PROBLEM);
  return { plain, problem: JSON.parse(text), headers };
}
const tasks = `/api/v1/boards/${home.board_id}/tasks`;
const missing = "7b0e6f0a-3c49-4a0e-9a55-0f3d5b1c9a01";

test("a client that accepts problem details gets errors in the form of RFC 9457", async () => {
  const { problem, plain } = await bothForms("GET", "/nowhere");
  expect(plain.body).toEqual({ detail: "Not Found" });
  expect(problem).toEqual({ type: "about:blank", title: "Not Found", status: 404, detail: "Not Found" });
  const wrongMethod = await bothForms("PUT", "/api/v1/boards");
  expect(wrongMethod.problem).toMatchObject({ status: 405, title: "Method Not Allowed" });
  expect(wrongMethod.headers.get("allow")).toBe("GET, HEAD, POST");
  const unauthenticated = await bothForms("GET", "/api/v1/users/me");
  expect(unauthenticated.problem).toMatchObject({ status: 401, title: "Unauthorized", detail: "Not authenticated" });
  expect(unauthenticated.headers.get("www-authenticate")).toBe("Bearer");
});

test("the fields of an error become members of its problem details", async () => {
  const { problem, plain } = await bothForms("POST", tasks, {
    token: home.owner.token,
    body: { title: "Lamps", tag_ids: [missing] },
  });
  const { message, missing_tag_ids } = plain.body.detail;
  expect(problem).toEqual({ type: "about:blank", title: "Not Found", status: 404, detail: message, missing_tag_ids });
});

test("the refusal of an agent's request keeps its code and says that a retry does not help", async () => {
  const { problem } = await bothForms("POST", `/api/v1/agent/boards/${home.board_id}/tasks`, {
    agent: home.worker.token,
    body: { title: "Lamps" },
  });
  const detail = "Only board leads can perform this action";
  expect(problem).toEqual({ type: "about:blank", title: "Forbidden", status: 403, detail, code: "forbidden", retryable: false });
});

test("invalid fields are listed as errors, and the detail names the first of them", async () => {
  const body = { title: 7, status: "lost", priority: 1, tag_ids: 3, description: 5, due_at: "x" };
  const { problem, plain } = await bothForms("POST", tasks, { token: home.owner.token, body });
  expect(problem).toMatchObject({ status: 422, title: "Unprocessable Entity", errors: plain.body.detail });
  expect(problem.detail).toMatch(/^The input is not valid\. body\.title: Input should be a valid string; .*; and 1 more\.$/);
});

test.each([
  [PROBLEM, PROBLEM],
  ["application/json, application/problem+json", PROBLEM],
  ["Application/Problem+JSON;q=0.5, */*", PROBLEM],
  ["application/problem+json;q=0.5, application/json", "application/json"],
  ["application/problem+json;q=0", "application/json"],
  ["*/*", "application/json"],
  ["application/*", "application/json"],
  ["", "application/json"],
])("a client that sends Accept %j gets errors as %s", async (accept, type) => {
  const answer = await world.call("GET", "/nowhere", { headers: { accept } });
  expect([answer.status, answer.headers.get("content-type")]).toEqual([404, type]);
});

test("successful answers are the same for a client that accepts problem details", async () => {
  await addTask(world, home, { title: "Lamps" });
  const plain = await world.call("GET", tasks, { token: home.owner.token });
  const answer = await world.call("GET", tasks, { token: home.owner.token, headers: { accept: PROBLEM } });
  expect([answer.status, answer.text, answer.headers.get("etag")]).toEqual([200, plain.text, plain.headers.get("etag")]);
});

test("long problem details are compressed, and a HEAD request gets them without a body", async () => {
  const body = JSON.stringify({ title: "Lamps", tag_ids: Array(100).fill("x") });
  const headers = { authorization: `Bearer ${home.owner.token}`, accept: PROBLEM, "accept-encoding": "gzip" };
  const response = await world.app.request(tasks, { method: "POST", body, headers });
  expect([response.headers.get("content-encoding"), response.headers.get("content-type")]).toEqual(["gzip", PROBLEM]);
  expect(JSON.parse(gunzipSync(Buffer.from(await response.arrayBuffer())).toString()).errors).toHaveLength(100);
  const head = await world.call("HEAD", "/api/v1/users/me", { headers: { accept: PROBLEM } });
  expect([head.status, head.text]).toEqual([401, ""]);
});
