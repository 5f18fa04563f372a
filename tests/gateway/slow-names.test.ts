import { expect, test } from "vitest";
import { setup, setupWorld } from "../support/fixtures.ts";
import { startFakeGateway } from "../support/fake-gateway/server.ts";
import { startNameServer } from "../support/name-server.ts";
import type { Person } from "../support/world.ts";

const TOKEN = "test-token-123";

/** The name server reports names with this beginning as missing, and does not answer for most others. */
let missing = "unknown-";

const names = await setup(
  startNameServer((name) => {
    if (name === "good.example") return ["127.0.0.1"];
    if (name.startsWith(missing)) return "missing";
    return name === "private.example" ? ["10.0.0.1"] : "silent";
  }),
);
const host = await setup(startFakeGateway({ token: TOKEN, dialect: "2026.2.9" }));
const files = { hosts: "/nonexistent/hosts", resolv_conf: "/nonexistent/resolv.conf" };
const world = await setupWorld({
  limits: { caller_running_requests: 0, organization_running_requests: 0, running_requests: 0 },
  resolver: { servers: [names.address], files },
});

async function register({ token }: Person, hostname: string) {
  const body = { name: hostname, url: host.url.replace("127.0.0.1", hostname), workspace_root: "/srv", token: TOKEN };
  const answer = await world.call("POST", "/api/v1/gateways", { token, body });
  return {
    status: answer.status,
    ...(answer.body as { id?: string; connected?: boolean; last_error?: string; detail?: string }),
  };
}

/** Requests the status of all these hosts at the same time, and returns the error of each answer. */
function readErrors({ token }: Person, queries: readonly string[]): Promise<unknown[]> {
  const read = async (query: string) => {
    const { body } = await world.call("GET", `/api/v1/gateways/status?${query}`, { token });
    return (body as { error: string | null }).error;
  };
  return Promise.all(queries.map(read));
}

async function owner(subject: string): Promise<Person> {
  const person = await world.person(subject);
  await world.call("GET", "/api/v1/auth/bootstrap", { token: person.token });
  return person;
}

test("an organization whose gateways have slow name servers does not delay the gateway of another organization", async () => {
  const [hostile, ordinary] = [await owner("hostile"), await owner("ordinary")];
  // A connection from this machine approves the service's device, as on a real host.
  expect(await register(ordinary, "127.0.0.1")).toMatchObject({ connected: true });
  const slow = Array.from({ length: 24 }, (_, number) => register(hostile, `slow-${number}.example`));
  expect(await register(ordinary, "good.example")).toMatchObject({ status: 200, connected: true });
  const saved = await Promise.all(slow);
  expect(saved.map(({ status, connected }) => [status, connected])).toEqual(saved.map(() => [200, false]));
  expect(new Set(saved.map(({ last_error }) => last_error))).toEqual(
    new Set([
      "Gateway host name cannot be resolved: EAI_AGAIN",
      "Gateway host name cannot be resolved: Too many host names of this organization are being looked up. Try again later.",
    ]),
  );
});

test("the budget of look-ups also applies to stored gateways and to addresses in a request", async () => {
  const [registrant, visitor] = [await owner("registrant"), await owner("visitor")];
  const numbers = Array.from({ length: 12 }, (_, number) => number);
  const stored = await Promise.all(numbers.map((number) => register(registrant, `unknown-${number}.example`)));
  missing = "none";
  const errors = await Promise.all([
    readErrors(
      registrant,
      stored.map(({ id }) => `gateway_id=${id}`),
    ),
    readErrors(
      visitor,
      numbers.map((number) => `gateway_url=${encodeURIComponent(`ws://entered-${number}.example`)}`),
    ),
  ]);
  const refusal = expect.stringContaining("Too many host names");
  expect(errors).toEqual([expect.arrayContaining([refusal]), expect.arrayContaining([refusal])]);
});

test("a gateway whose name leads to a private address is not registered", async () => {
  expect(await register(await owner("curious"), "private.example")).toEqual({
    status: 422,
    detail: "Gateway host is not allowed.",
  });
});
