import { createClient } from "@board/client/client";
import { ApiError, ConnectionError } from "@board/client/error";
import { expect, test } from "vitest";
import { serve } from "../support/serve.ts";
import { setup, setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const home = await world.tenant("home");
const server = await setup(serve((request) => world.app.fetch(request)));

const tasks = "/api/v1/boards/{board_id}/tasks";
const params = { path: { board_id: home.board_id } };

type Fault = (request: Request) => Promise<Response>;

/** The service carries the request out, but its answer is lost. */
const lost: Fault = async (request) => {
  await (await fetch(request)).text();
  throw new TypeError("fetch failed");
};
/** The answer breaks off in the middle. */
const torn: Fault = async (request) => {
  const text = await (await fetch(request)).text();
  const body = ReadableStream.from([Buffer.from(text.slice(0, 10))]).pipeThrough(
    new TransformStream({ flush: (controller) => controller.error(new TypeError("terminated")) }),
  );
  return new Response(body, { headers: { "content-type": "application/json" } });
};
const answer =
  (status: number, headers: Record<string, string> = {}): Fault =>
  async () =>
    new Response("", { status, headers });

/** Returns a client whose first requests meet these faults, and the requests that it has sent. */
function clientWith(faults: Fault[], retries = 3) {
  const sent: Request[] = [];
  const client = createClient({
    url: server.url,
    token: home.owner.token,
    retries,
    fetch: (request) => {
      sent.push(request.clone());
      return (faults[sent.length - 1] ?? fetch)(request);
    },
  });
  return { client, sent };
}

const rejection = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail("nothing was rejected"),
    (error: unknown) => error,
  );
const keyOf = ({ headers }: Request) => headers.get("idempotency-key");

test("a POST is repeated with the key of its first attempt, and each call has a different key", async () => {
  const { client, sent } = clientWith([answer(503), answer(502), torn]);
  const made = await client.post(tasks, { params, body: { title: "Count the lamps" } });
  expect(made.title).toBe("Count the lamps");
  expect(sent).toHaveLength(4);
  expect(new Set(sent.map(keyOf))).toEqual(new Set([expect.stringMatching(/^[\da-f]{32}$/)]));
  await client.post(tasks, { params, body: { title: "Polish the lamps" } });
  expect(keyOf(sent[4]!)).not.toBe(keyOf(sent[0]!));
});

test("a POST whose answer is lost has one effect", async () => {
  const { client, sent } = clientWith([lost, torn]);
  const made = await client.post(tasks, { params, body: { title: "Only once" } });
  expect(sent).toHaveLength(3);
  const found = await client.get(tasks, { params: { ...params, query: { limit: 200 } } });
  expect(found.items.filter(({ title }) => title === "Only once").map(({ id }) => id)).toEqual([made.id]);
});

test("an Idempotency-Key that the caller sets itself is kept", async () => {
  const { client, sent } = clientWith([]);
  await client.post(tasks, { params, body: { title: "Mine" }, headers: { "idempotency-key": "order-17" } });
  expect(sent.map(keyOf)).toEqual(["order-17"]);
});

test("reads, replacements and deletions are repeated after network errors, and PATCH requests are not", async () => {
  const { client, sent } = clientWith([lost, answer(504)]);
  await client.get(tasks, { params });
  expect(sent.map(({ method }) => method)).toEqual(["GET", "GET", "GET"]);
  expect(sent.map(keyOf)).toEqual([null, null, null]);

  const task = await client.post(tasks, { params, body: { title: "Sweep" } });
  const path = { ...params.path, task_id: task.id };
  const patching = clientWith([lost]);
  const error = await rejection(patching.client.patch(`${tasks}/{task_id}`, { params: { path }, body: { priority: "high" } }));
  expect(error).toBeInstanceOf(ConnectionError);
  expect(error).toMatchObject({ message: `No answer from ${server.url}: fetch failed` });
  expect(patching.sent).toHaveLength(1);
});

test("a request that is answered with 429 is repeated, whatever its method, after the time that the service names", async () => {
  const { client, sent } = clientWith([answer(429, { "retry-after": "0" }), answer(429, { "retry-after": "0" })]);
  const task = await clientWith([]).client.post(tasks, { params, body: { title: "Wait" } });
  const path = { ...params.path, task_id: task.id };
  await client.patch(`${tasks}/{task_id}`, { params: { path }, body: { priority: "low" } });
  expect(sent).toHaveLength(3);
  const later = clientWith([answer(429, { "retry-after": "3600" })]);
  expect(await rejection(later.client.get(tasks, { params }))).toMatchObject({
    status: 429,
    retry_after_seconds: 3600,
  });
  expect(later.sent).toHaveLength(1);
});

test("a refused request and a request that cannot be sent are never repeated", async () => {
  const { client, sent } = clientWith([]);
  const path = { ...params.path, task_id: crypto.randomUUID() };
  expect(await rejection(client.get(`${tasks}/{task_id}`, { params: { path } }))).toBeInstanceOf(ApiError);
  expect(sent).toHaveLength(1);
  const circular: Record<string, unknown> = {};
  circular["self"] = circular;
  expect(await rejection(client.post(tasks, { params, body: circular as never }))).not.toBeInstanceOf(ConnectionError);
  expect(sent).toHaveLength(1);
});

test("a request is repeated at most `retries` times, and not after the signal is aborted", async () => {
  const none = clientWith([answer(503)], 0);
  expect(await rejection(none.client.get(tasks, { params }))).toMatchObject({ status: 503 });
  expect(none.sent).toHaveLength(1);
  const over = new AbortController();
  const waiting = clientWith([answer(503, { "retry-after": "30" })]);
  const ended = rejection(waiting.client.get(tasks, { params, signal: over.signal }));
  over.abort(new Error("that is all"));
  expect(await ended).toMatchObject({ message: "that is all" });
});

test("a payload that is posted to a webhook gets no key and is not repeated", async () => {
  const webhook = await clientWith([]).client.post("/api/v1/boards/{board_id}/webhooks", {
    params,
    body: { description: "Triage it" },
  });
  const path = { ...params.path, webhook_id: webhook.id };
  const { client, sent } = clientWith([lost]);
  expect(await rejection(client.post("/api/v1/boards/{board_id}/webhooks/{webhook_id}", { params: { path } }))).toBeInstanceOf(
    ConnectionError,
  );
  expect(sent.map(keyOf)).toEqual([null]);
});

test("a stream that the service asks to wait for years does not ask again at once", async () => {
  const over = new AbortController();
  const later = answer(503, { "retry-after": "999999999" });
  const { client, sent } = clientWith([later, later, later]);
  const reading = rejection(client.stream("/api/v1/changes/stream", { signal: over.signal }).next());
  await expect.poll(() => sent.length, { timeout: 30_000 }).toBe(1);
  // A timer that is set for too long fires after a millisecond.
  await new Promise((resolve) => setTimeout(resolve, 300));
  over.abort();
  await reading;
  expect(sent).toHaveLength(1);
});
