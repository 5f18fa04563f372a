import { endpoints } from "@board/api/groups";
import { afterEach, expect, test, vi } from "vitest";
import { createWebhook } from "../support/webhook.ts";
import { setupWorld } from "../support/fixtures.ts";

let address = "192.0.2.1";

const world = await setupWorld({
  limits: { organization_running_requests: 1, caller_waiting_requests: 3, waiting_requests: 6, running_requests: 2 },
  socketAddress: () => address,
});
const home = await world.tenant("home");
const other = await world.tenant("other");

afterEach(() => void vi.useRealTimers());

const request = async (path: string, init?: RequestInit): Promise<Response> => world.app.request(path, init);
const statuses = (answers: readonly { status: number }[]) =>
  answers.map(({ status }) => status).toSorted((one, other) => one - other);
const times = <T>(count: number, send: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, n) => send(n)));

test("an organization with too many waiting requests of several clients gets 429 with Retry-After, and another organization does not", async () => {
  const readers = [{ token: home.owner.token }, { agent: home.lead.token }, { agent: home.worker.token }];
  const path = `/api/v1/boards/${home.board_id}/tasks`;
  const [answers, others] = await Promise.all([
    times(24, (n) => world.call("GET", path, readers[n % readers.length]!)),
    times(3, () => world.call("GET", "/api/v1/boards", { token: other.owner.token })),
  ]);
  // How many requests are accepted depends on how fast they are answered.
  expect(new Set(statuses(answers))).toEqual(new Set([200, 429]));
  const refused = answers.find(({ status }) => status === 429);
  expect(refused?.headers.get("retry-after")).toBe("5");
  expect(refused?.body.detail).toBe("Too many requests of this organization are waiting. Try again in a few seconds.");
  expect(statuses(others)).toEqual([200, 200, 200]);
});

test("an address that sends too many posts at once without a credential gets 429, and another address does not", async () => {
  const webhook = await createWebhook(world, home);
  const post = () => request(webhook.endpoint_path, { method: "POST", body: "{}" });
  const posts = times(10, post);
  address = "192.0.2.2";
  const [answers, elsewhere] = await Promise.all([posts, post()]);
  address = "192.0.2.1";
  expect(statuses(answers)).toEqual([...Array<number>(4).fill(202), ...Array<number>(6).fill(429)]);
  const refused = answers.find(({ status }) => status === 429)!;
  expect(await refused.json()).toEqual({
    detail: "Too many requests from this address are waiting. Try again in a few seconds.",
  });
  expect(elsewhere.status).toBe(202);
});

test("once a process has its maximum of waiting requests, new addresses get 503 at once, and known clients are still answered", async () => {
  const webhook = await createWebhook(world, home);
  const posts: Promise<Response>[] = [];
  for (let n = 1; n <= 20; n++) {
    address = `198.51.100.${n}`;
    posts.push(...[1, 2].map(() => request(webhook.endpoint_path, { method: "POST", body: "{}" })));
  }
  address = "192.0.2.1";
  const known = world.call("GET", "/api/v1/boards", { token: other.owner.token });
  const answers = await Promise.all(posts);
  expect(new Set(statuses(answers))).toEqual(new Set([202, 503]));
  const refused = answers.find(({ status }) => status === 503)!;
  expect(refused.headers.get("retry-after")).toBe("5");
  expect(await refused.json()).toEqual({ detail: "Too many requests are waiting. Try again in a few seconds." });
  expect((await known).status).toBe(200);
});

test("a request that waits for work delays no other request of its organization", async () => {
  let ended = false;
  const waiting = world.call("GET", "/api/v1/agent/inbox?wait=2", { agent: home.worker.token }).finally(() => (ended = true));
  const boards = await times(3, () => world.call("GET", "/api/v1/boards", { token: home.owner.token }));
  expect({ boards: statuses(boards), ended }).toEqual({ boards: [200, 200, 200], ended: false });
  expect((await waiting).status).toBe(200);
});

test("a post whose body does not arrive delays no other request of the same address", async () => {
  const webhook = await createWebhook(world, home);
  const slow = new TransformStream<Uint8Array, Uint8Array>();
  const writer = slow.writable.getWriter();
  const init = { method: "POST", body: slow.readable, duplex: "half" };
  const unfinished = request(webhook.endpoint_path, init as RequestInit);
  const answers = await times(3, () => request(webhook.endpoint_path, { method: "POST", body: "{}" }));
  expect(statuses(answers)).toEqual([202, 202, 202]);
  await writer.write(Buffer.from("{}"));
  await writer.close();
  expect((await unfinished).status).toBe(202);
});

test("probes and public files are answered while an organization has reached its limit of running requests", async () => {
  // The time limit of the probe never passes, because a busy machine may take longer than this limit.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const busy = times(4, () => world.call("GET", "/api/v1/boards", { token: home.owner.token }));
  const paths = ["/health", "/readyz", "/openapi.json", "/docs", "/docs/swagger-ui.css", "/.well-known/oauth-protected-resource"];
  const requestSixTimes = (path: string) => Promise.all([1, 2, 3, 4, 5, 6].map(() => request(path)));
  const answers = await Promise.all(paths.map(requestSixTimes));
  expect([...new Set(statuses(answers.flat()))]).toEqual([200]);
  await busy;
});

test("an operation that calls another server does not count as a running request during the call", () => {
  const held = endpoints.filter(({ spec }) => spec.errors?.includes(502) && !spec.calls_out);
  expect(held.map(({ method, paths }) => `${method} ${paths[0]}`)).toEqual([]);
});
