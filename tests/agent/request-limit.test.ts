/** Tests the limit that an admin sets for the requests of one agent, with one process and with several. */
import { createApp } from "@board/api/app";
import { endpoints } from "@board/api/groups";
import { createHttpClient, locatePublicHost } from "@board/core/http/https-client";
import { createNameResolver } from "@board/core/dns/resolver";
import { beforeEach, expect, test } from "vitest";
import { call } from "../support/http.ts";
import { setupWorld } from "../support/fixtures.ts";

const MINUTE_MS = 60_000;
const ME = "/api/v1/agent/healthz";

const world = await setupWorld();
const home = await world.tenant("home");

/** Each test starts at a full minute, so that no test spans two of them. */
beforeEach(() => world.elapse(MINUTE_MS - (world.now().getTime() % MINUTE_MS)));

const setLimit = (requests_per_minute: unknown, id = home.worker.id) =>
  world.call("PATCH", `/api/v1/agents/${id}`, { token: home.owner.token, body: { requests_per_minute } });
const send = (agent = home.worker.token) => world.call("GET", ME, { agent });

async function sendMany(count: number, agent?: string): Promise<number[]> {
  const statuses: number[] = [];
  for (let index = 0; index < count; index++) statuses.push((await send(agent)).status);
  return statuses;
}

test("an agent over its request limit gets 429 until the clock minute ends, and other agents are not limited", async () => {
  expect((await setLimit(3)).body.requests_per_minute).toBe(3);
  expect(await sendMany(3)).toEqual([200, 200, 200]);
  const refused = await send();
  expect([refused.status, refused.body]).toEqual([429, { detail: "Too Many Requests" }]);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  expect((await send(home.lead.token)).status).toBe(200);
  world.elapse(MINUTE_MS);
  expect((await send()).status).toBe(200);
});

test("requests that arrive at the same moment do not exceed the limit of their agent", async () => {
  await setLimit(20);
  const statuses = (await Promise.all(Array.from({ length: 40 }, () => send()))).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(20);
  expect(statuses.filter((status) => status === 429)).toHaveLength(20);
});

test("the answers to an agent with a limit show the limit and how much of it is left", async () => {
  await setLimit(2);
  const headersOf = ({ headers }: { headers: Headers }) => [headers.get("ratelimit-policy"), headers.get("ratelimit")];
  const policy = '"requests_per_minute";q=2;w=60';
  expect(headersOf(await send())).toEqual([policy, expect.stringMatching(/^"requests_per_minute";r=1;t=(60|[1-5]\d?)$/)]);
  expect(headersOf(await send())).toEqual([policy, expect.stringMatching(/^"requests_per_minute";r=0;t=/)]);
  expect(headersOf(await send())).toEqual([policy, expect.stringMatching(/^"requests_per_minute";r=0;t=/)]);
  expect(headersOf(await send(home.lead.token))).toEqual([null, null]);
});

test("setting the limit of an agent to null removes it, and otherwise only whole numbers from 1 are accepted", async () => {
  await setLimit(1);
  expect(await sendMany(2)).toEqual([200, 429]);
  expect((await setLimit(null)).body.requests_per_minute).toBeNull();
  expect(await sendMany(2)).toEqual([200, 200]);
  for (const bad of [0, -1, 1.5, "10", 2_147_483_648, true]) expect([bad, (await setLimit(bad)).status]).toEqual([bad, 422]);
});

test("an agent can be created with a request limit", async () => {
  const body = { name: "Limited", board_id: home.board_id, requests_per_minute: 1 };
  const created = (await world.call("POST", "/api/v1/agents", { token: home.owner.token, body })).body;
  expect(created.requests_per_minute).toBe(1);
  expect(await sendMany(2, created.auth_token)).toEqual([200, 429]);
});

test("most requests of an agent with a limit need no additional statement", async () => {
  await setLimit(1_000);
  await send();
  world.statements.length = 0;
  for (let index = 0; index < 50; index++) await send();
  expect(world.statements.filter((statement) => statement.includes("rate_counters"))).toEqual([]);
});

test("with several processes, each process after the first accepts at most a tenth of the limit in addition", async () => {
  await setLimit(50);
  // Each app has a separate HTTP client and therefore separate memory, like a separate process.
  const apps = Array.from({ length: 4 }, () => {
    const http = createHttpClient({ locate: locatePublicHost(createNameResolver(world.settings.budgets)) });
    return createApp({ ...world.runtime, createContext: () => ({ ...world.runtime.createContext(), http }) }, endpoints);
  });
  let passed = 0;
  for (let round = 0; round < 40; round++)
    for (const app of apps) {
      const answer = await call((path, init) => app.request(path, init), "GET", ME, { agent: home.worker.token });
      if (answer.status === 200) passed += 1;
    }
  expect(passed).toBeGreaterThanOrEqual(50);
  expect(passed).toBeLessThanOrEqual(50 + 4 * 5);
});
