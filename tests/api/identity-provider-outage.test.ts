import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { listen } from "../support/sse.ts";
import type { ProviderFault } from "../support/identity-provider.ts";
import { createWorld, type Tenant, type World } from "../support/world.ts";

/** A world whose process has not read the provider's keys yet. */
let world: World;
const LIMIT = 3;
const FAULTS: ProviderFault[] = ["stopped", "not JSON", "status 500", "a redirect", "endless", "no keys", "no key set"];
const UNCHECKED = [503, { detail: "The identity provider cannot be reached, so the token was not checked. Try again later." }];

beforeEach(async () => {
  world = await createWorld({ environment: { AUTH_FAILURES_PER_MINUTE: String(LIMIT) }, streams: { poll_ms: 20 } });
});
afterEach(async () => {
  vi.useRealTimers();
  await world.close();
});

const me = (token: string) => world.call("GET", "/api/v1/users/me", { token });
const statusOf = async (token: string) => (await me(token)).status;
const elapse = (ms: number) => void vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms });
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

describe("before the keys have ever been read", () => {
  test.each(FAULTS)(
    "a token gets 503 with Retry-After and does not count as a failed sign-in while the provider is %s",
    async (fault) => {
      const { token } = await world.person("somebody");
      await world.identities.fail(fault);
      for (let attempt = 0; attempt <= LIMIT + 1; attempt++) {
        const answer = await me(token);
        expect([answer.status, answer.body]).toEqual(UNCHECKED);
        expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
      }
      expect(await statusOf("not-a-token")).toBe(401);
      expect(world.log.some(({ event, level }) => event === "auth.jwks_unavailable" && level === "error")).toBe(true);
      expect(JSON.stringify(world.log)).not.toContain(token.slice(0, 30));

      await world.identities.recover();
      elapse(5_000);
      expect(await statusOf(token)).toBe(200);
    },
  );

  test("requests that arrive together wait for one fetch of the keys", async () => {
    const { token } = await world.person("somebody");
    expect(await Promise.all(Array.from({ length: 20 }, () => statusOf(token)))).toEqual(Array.from({ length: 20 }, () => 200));
    expect(world.identities.reads).toBe(1);
  });

  test("requests share one fetch from a provider that hangs, and each gets 503 within a time limit", async () => {
    const { token } = await world.person("somebody");
    await world.identities.fail("hanging");
    const answers = await Promise.all(Array.from({ length: 20 }, () => statusOf(token)));
    expect(answers).toEqual(Array.from({ length: 20 }, () => 503));
    expect(world.identities.reads).toBe(1);
  });

  test("a provider that fails is not asked once per request", async () => {
    const { token } = await world.person("somebody");
    await world.identities.fail("status 500");
    elapse(0);
    for (let attempt = 0; attempt < 20; attempt++) expect(await statusOf(token)).toBe(503);
    expect(world.identities.reads).toBe(1);
  });

  test("a token with an algorithm that the provider does not use is refused even if the provider's keys cannot be read", async () => {
    await world.identities.fail("stopped");
    const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
    expect(await statusOf(`${encode({ alg: "none" })}.${encode({ sub: "admin" })}.`)).toBe(401);
    expect(await statusOf(`${encode({ alg: "HS256" })}.${encode({ sub: "admin" })}.c2ln`)).toBe(401);
  });
});

describe("after the keys have been read once", () => {
  let home: Tenant;
  beforeEach(async () => {
    home = await world.tenant("home");
  });

  test.each([...FAULTS, "hanging" as const])("people stay signed in for a day while the provider is %s", async (fault) => {
    await world.identities.fail(fault);
    const token = await world.identities.token("home", { exp: Math.floor(Date.now() / 1000) + 3 * 86_400 });
    for (const ms of [11 * MINUTE_MS, 12 * MINUTE_MS, DAY_MS - 30 * MINUTE_MS]) {
      elapse(ms);
      expect(await statusOf(token)).toBe(200);
    }
    elapse(DAY_MS);
    expect(await statusOf(token)).toBe(503);
    await world.identities.recover();
    elapse(5_000);
    expect(await statusOf(token)).toBe(200);
  });

  test("a token of a new key gets 503 while the provider is stopped, and 200 within seconds after the provider is back", async () => {
    await world.identities.fail("stopped");
    await world.identities.rotate("second");
    const token = await world.identities.token("home");
    elapse(MINUTE_MS);
    for (let attempt = 0; attempt <= LIMIT + 1; attempt++) expect(await statusOf(token)).toBe(503);
    expect(await statusOf(home.owner.token)).toBe(200);
    await world.identities.recover();
    elapse(5_000);
    expect(await statusOf(token)).toBe(200);
  });

  test("unknown key ids do not delay tokens of known keys while the provider hangs", async () => {
    await world.identities.fail("hanging");
    const signing = world.identities;
    const known = await signing.token("home");
    await signing.rotate("unknown");
    const unknown = await signing.token("home");
    elapse(MINUTE_MS);
    const finished: string[] = [];
    const waiting = statusOf(unknown).then((status) => finished.push(`unknown ${status}`));
    await statusOf(known).then((status) => finished.push(`known ${status}`));
    await waiting;
    expect(finished).toEqual(["known 200", "unknown 503"]);
  });

  test("unknown key ids never cause more than one fetch in 30 seconds", async () => {
    const known = await world.identities.token("home");
    const published = world.identities.public_key;
    await world.identities.rotate("unknown");
    const unknown = await world.identities.token("home");
    world.identities.publish(published);
    elapse(MINUTE_MS);
    await Promise.all(Array.from({ length: 30 }, () => statusOf(unknown)));
    expect([world.identities.reads, await statusOf(known)]).toEqual([2, 200]);
    elapse(31_000);
    await Promise.all(Array.from({ length: 30 }, () => statusOf(unknown)));
    expect([world.identities.reads, await statusOf(known)]).toEqual([3, 200]);
  });

  test("agents keep working while the provider hangs, even on routes that people may use too", async () => {
    await world.identities.fail("hanging");
    elapse(2 * DAY_MS);
    const memory = `/api/v1/boards/${home.board_id}/memory`;
    const headers = { authorization: `Bearer ${home.worker.token}` };
    expect((await world.call("GET", "/api/v1/agent/healthz", { headers })).status).toBe(200);
    expect((await world.call("GET", memory, { headers })).status).toBe(200);
    expect((await world.call("GET", memory, { agent: home.worker.token })).status).toBe(200);
    expect(world.identities.reads).toBe(1);
    expect((await world.call("GET", memory, { token: await world.identities.token("home") })).status).toBe(503);
  });

  test("open streams stay open and receive events while the keys cannot be read", async () => {
    const token = await world.identities.token("home", { exp: Math.floor(Date.now() / 1000) + 3 * 86_400 });
    const path = `/api/v1/boards/${home.board_id}/memory`;
    const stream = await listen((target, init) => world.app.request(target, init), `${path}/stream`, { token });
    const write = (content: string) => world.call("POST", path, { agent: home.worker.token, body: { content } });
    await write("one");
    await stream.waitForEvents(1);
    await world.identities.fail("status 500");
    elapse(2 * DAY_MS);
    world.elapse(5 * MINUTE_MS);
    await write("two");
    expect(await stream.waitForEvents(2)).toHaveLength(2);
    await stream.close();
  });
});
