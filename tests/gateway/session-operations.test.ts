import { type FakeGateway, startFakeGateway } from "../support/fake-gateway/server.ts";
import { beforeEach, describe, expect, test } from "vitest";
import { targetQuery, type Query, createSessionCalls } from "./session-calls.ts";
import type { Answer } from "../support/http.ts";
import { startHost, startTwoOrganizations, TOKEN } from "./two-organizations.ts";
import { setup } from "../support/fixtures.ts";

const neighbours = await setup(startTwoOrganizations({ reply: ({ message }) => `You said: ${message}` }));
const { world, gateway, home, abroad } = neighbours;

beforeEach(() => {
  gateway.calls.length = 0;
});

const { sessions, one, history, say } = createSessionCalls(() => neighbours);
const operations: [string, (query: Query) => Promise<Answer>][] = [
  ["list the sessions", (query) => sessions(query)],
  ["read one session", (query) => one("agent:main:main", query)],
  ["read the history", (query) => history("agent:main:main", query)],
  ["send a message", (query) => say("agent:main:main", { content: "Hello" }, query)],
];

describe.each(operations)("session operation: %s", (_what, ask) => {
  test("a session operation does not find gateways and boards of another organization", async () => {
    for (const query of [
      { gateway_id: abroad.gateway_id },
      { board_id: abroad.board_id },
      { board_id: abroad.board_id, ...targetQuery(gateway) },
    ] as Query[]) {
      const answer = await ask(query);
      expect([answer.status, answer.body]).toEqual([404, { detail: "Not Found" }]);
    }
    expect(gateway.calls).toEqual([]);
  });

  test("a session operation that the host refuses becomes a 502 without the token", async () => {
    const answer = await ask({ gateway_url: gateway.url, gateway_token: "wrong-token-S3cret" });
    expect([answer.status, answer.body]).toEqual([
      502,
      { detail: expect.stringMatching(/^Gateway session request failed: Gateway authentication failed/) },
    ]);
    expect(answer.text).not.toContain("S3cret");
  });

  test("a session operation does not connect to an address that is not allowed", async () => {
    const answer = await ask({ gateway_url: "ws://10.0.0.1" });
    expect([answer.status, answer.body]).toEqual([
      502,
      { detail: "Gateway session request failed: Gateway host is not allowed." },
    ]);
  });

  test("a session operation succeeds after a restart of the host", async () => {
    const restarting = await startHost();
    restarting.sendAgentMessage("agent:main:main", "Hello");
    const statuses = [503, 503, null];
    Object.defineProperty(restarting.faults, "upgrade_status", { get: () => statuses.shift() ?? null });
    expect((await ask(targetQuery(restarting))).status).toBe(200);
    expect(statuses).toEqual([]);
  });
});

test("for an agent that the host does not know, the error has the host's own text", async () => {
  const strict = await startHost({ dialect: "2026.5.7" });
  const answer = await say("agent:ghost:main", { content: "Hello" }, targetQuery(strict));
  expect([answer.status, answer.body]).toEqual([
    502,
    { detail: 'Gateway session request failed: Agent "ghost" no longer exists in configuration' },
  ]);
});

describe.concurrent("session operations on a failing host", () => {
  const never = Number.POSITIVE_INFINITY;
  test.each<[string, (faulty: FakeGateway) => unknown, RegExp]>([
    ["is down", (faulty) => faulty.stop(), /unreachable for \d+ s during .*ECONNREFUSED/],
    ["never completes the handshake", ({ faults }) => (faults.silent_handshake = true), /did not/],
    [
      "never answers",
      ({ faults }) => (faults.delays_ms = { "sessions.list": never, "chat.history": never, "chat.send": never }),
      /did not answer/,
    ],
  ])(
    "every operation ends with a reason when the host %s",
    async (_how, spoil, reason) => {
      const faulty = await startFakeGateway({ token: TOKEN });
      await spoil(faulty);
      for (const answer of await Promise.all(operations.map(([, ask]) => ask(targetQuery(faulty))))) {
        expect([answer.status, answer.body]).toEqual([502, { detail: expect.stringMatching(reason) }]);
        expect(answer.body.detail).toMatch(/^Gateway session request failed: /);
      }
      await faulty.close();
    },
    60_000,
  );
});

test("a saved gateway is shown as unreachable after a failed call, and as connected after a successful one", async () => {
  const flaky = await startHost();
  const gateway_id = await neighbours.register(flaky.url, { name: "Moody" });
  const connectionState = async () => {
    const shown = await world.call("GET", `/api/v1/gateways/${gateway_id}`, { token: home.owner.token });
    return [shown.body.connected, shown.body.last_error];
  };
  await flaky.stop();
  flaky.faults.upgrade_status = 403;
  await flaky.start();
  expect((await sessions({ gateway_id })).status).toBe(502);
  expect(await connectionState()).toEqual([false, expect.stringContaining("HTTP 403")]);
  flaky.faults.upgrade_status = null;
  expect((await history("agent:main:main", { gateway_id })).status).toBe(200);
  expect(await connectionState()).toEqual([true, null]);
});

test("each operation takes only the statements for authentication and the gateway, and the list one more for the agents", async () => {
  gateway.sendAgentMessage("agent:main:main", "Hello");
  await sessions({ gateway_id: home.gateway_id });
  const costs: number[] = [];
  for (const [, ask] of operations) {
    costs.push(await world.countStatements(() => ask({ gateway_id: home.gateway_id })));
  }
  expect(costs).toEqual([3, 3, 2, 2]);
});

test("no token, no query and no text of a message is in a log line", async () => {
  world.log.length = 0;
  for (const [, ask] of operations) await ask({ gateway_url: gateway.url, gateway_token: "wrong-token-S3cret" });
  const written = JSON.stringify(world.log);
  for (const secret of ["S3cret", TOKEN, "gateway_url", "Hello"]) expect(written).not.toContain(secret);
  expect(world.log.filter(({ event }) => event === "http.request")).toHaveLength(operations.length);
});
