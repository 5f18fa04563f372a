import { createApp } from "@board/api/app";
import { endpoints } from "@board/api/groups";
import { stream_leases } from "@board/core/schema/all-tables";
import { scheduled } from "@board/api/work/schedules";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Listener, listen } from "../support/sse.ts";
import { createWorld, type Tenant, type World } from "../support/world.ts";
import { contentsOf, POLL_MS, streamPath } from "./memory-stream-client.ts";

const PER_CALLER = 3;
const PER_ORGANIZATION = 5;
const environment = { STREAMS_PER_CALLER: String(PER_CALLER), STREAMS_PER_ORGANIZATION: String(PER_ORGANIZATION) };
const REPLACED = /(?:^|\n)id: [\w-]+\nretry: 30000\n\n$/;

/** With `database`, requests alternate between two apps, as on AWS, where every stream has its own process. */
describe.each(["process", "database"] as const)("streams counted in the %s", (count_in) => {
  let world: World;
  let home: Tenant;
  let apps: World["app"][];
  let opened: Listener[] = [];
  let tenants = 0;

  beforeAll(async () => {
    const streams = { poll_ms: POLL_MS, count_in, lease_check_ms: POLL_MS, max_seconds: 600 };
    world = await createWorld({ environment, streams });
    apps = count_in === "database" ? [world.app, createApp(world.runtime, endpoints)] : [world.app];
  });
  afterAll(() => world.close());
  beforeEach(async () => {
    await Promise.all(opened.map((listener) => listener.close().catch(() => {})));
    opened = [];
    home = await world.tenant(`${count_in} ${++tenants}`);
  });

  async function follow(
    who: { token?: string; agent?: string } = home.owner,
    tenant = home,
    last?: string,
    query = "",
  ): Promise<Listener> {
    const app = apps[opened.length % apps.length]!;
    const credential = who.agent ? { agent: who.agent } : { token: who.token! };
    const listener = await listen((target, init) => app.request(target, init), streamPath(tenant.board_id) + query, {
      ...credential,
      last,
    });
    opened.push(listener);
    return listener;
  }
  const write = (content: string, tenant = home) =>
    world.call("POST", `/api/v1/boards/${tenant.board_id}/memory`, { token: tenant.owner.token, body: { content } });
  async function colleague(name: string) {
    const person = await world.member(`${name} of ${home.owner.subject}`, home, "member", { read: true });
    return person;
  }
  const statusesOf = (listeners: Listener[]) => listeners.map(({ status }) => status);

  const refusalOf = async (token = home.owner.token, path = streamPath(home.board_id)) => {
    const { status, headers, body } = await world.call("GET", path, { token });
    return [status, headers.get("retry-after"), body];
  };
  const refusal = (where: string) => [429, "30", { detail: `Too many streams are open ${where}: close one, or try again later` }];
  const OF_CALLER = refusal("under your name");
  const OF_ORGANIZATION = refusal("in this organization");
  async function fill(who: { token?: string; agent?: string } = home.owner): Promise<Listener[]> {
    const streams: Listener[] = [];
    for (let number = 0; number < PER_CALLER; number++) streams.push(await follow(who));
    return streams;
  }

  test("a stream of a person beyond the budget gets 429 with Retry-After, and no open stream ends because of it", async () => {
    const streams = await fill();
    for (let round = 0; round < 3; round++) expect(await refusalOf()).toEqual(OF_CALLER);
    await write("one");
    for (const listener of streams) await listener.waitForEvents(1);
    expect(streams.some(({ ended }) => ended)).toBe(false);
  });

  test("streams that are opened at the same time are all counted", async () => {
    const streams = await Promise.all(Array.from({ length: PER_CALLER * 4 }, () => follow()));
    expect(statusesOf(streams).filter((status) => status === 200)).toHaveLength(PER_CALLER);
    expect(statusesOf(streams).filter((status) => status === 429)).toHaveLength(PER_CALLER * 3);
  });

  const followAs = (client_id: string, more = "", who = home.owner) =>
    follow(who, home, undefined, `?client_id=${client_id}${more}`);

  test("a client's next stream of the same rows replaces the previous one, and the replaced stream can be resumed without a gap", async () => {
    const before = await followAs("tab-1", "&since=2026-01-01T00:00:00Z");
    await write("none");
    await before.waitForEvents(1);
    const after = await followAs("tab-1");
    await before.waitForEnd();
    expect(before.text).toMatch(REPLACED);
    await write("one");
    await after.waitForEvents(1);
    const resumed = await follow(home.owner, home, before.lastId(), "?client_id=tab-2");
    await resumed.waitForEvents(1);
    expect([contentsOf(resumed), after.ended]).toEqual([["one"], false]);
  });

  test("a client's next stream does not end streams of other rows, other clients or other people", async () => {
    const person = await colleague("same client");
    const others = [await followAs("tab-1", "&is_chat=true"), await followAs("tab-2"), await followAs("tab-1", "", person)];
    await followAs("tab-1");
    await write("one");
    for (const listener of others.slice(1)) await listener.waitForEvents(1);
    expect(others.some(({ ended }) => ended)).toBe(false);
  });

  test.each(["", "a b", "x".repeat(65)])(
    "a client id that is empty, long or not plain text is refused: %j",
    async (client_id) => {
      const path = `${streamPath(home.board_id)}?client_id=${encodeURIComponent(client_id)}`;
      expect((await world.call("GET", path, { token: home.owner.token })).status).toBe(422);
    },
  );

  test("a client with a client_id may reconnect any number of times, even when the person has reached the limit of streams", async () => {
    const [, ...others] = await Promise.all([followAs("tab-1"), ...[2, 3].map((tab) => followAs(`tab-${tab}`))]);
    for (let round = 0; round < 10; round++) expect((await followAs("tab-1")).status).toBe(200);
    expect(await refusalOf()).toEqual(OF_CALLER);
    await write("hello");
    for (const listener of others) await listener.waitForEvents(1);
    // A Lambda function checks every five seconds whether its stream was replaced.
    await expect.poll(() => opened.filter(({ ended }) => !ended).length, { timeout: 15_000 }).toBe(PER_CALLER);
  });

  test("the streams of a person are counted together, with any of the tokens", async () => {
    const person = await colleague("twice");
    const seconds = Math.floor(Date.now() / 1000);
    const token = await world.identities.token(person.subject, { iat: seconds - 60, exp: seconds + 600 });
    expect(token).not.toBe(person.token);
    await fill({ token });
    expect(await refusalOf(person.token)).toEqual(OF_CALLER);
  });

  test("the streams of an agent are counted together, with its token in either header", async () => {
    await fill({ agent: home.worker.token });
    expect(await refusalOf(home.worker.token)).toEqual(OF_CALLER);
  });

  async function fillOrganization(): Promise<Listener[]> {
    const people = await Promise.all(Array.from({ length: PER_ORGANIZATION }, (_, number) => colleague(`member ${number}`)));
    const streams: Listener[] = [];
    for (const person of people) streams.push(await follow(person));
    return streams;
  }

  test("an organization at its limit of streams gets 429 with Retry-After, and another organization does not", async () => {
    const streams = await fillOrganization();
    expect(await refusalOf()).toEqual(OF_ORGANIZATION);
    const abroad = await world.tenant(`abroad of ${home.owner.subject}`);
    expect((await follow(abroad.owner, abroad)).status).toBe(200);
    expect(streams.some(({ ended }) => ended)).toBe(false);
  });

  test("a stream whose client disconnects frees its place", async () => {
    const [first] = await fillOrganization();
    await first!.close();
    await expect.poll(async () => (await follow()).status, { timeout: 10_000 }).toBe(200);
  });

  test("streams of a person in several organizations share the person's budget", async () => {
    const abroad = await world.tenant(`several of ${home.owner.subject}`);
    await world.join(home.owner, abroad.organization_id, "member", { read: true });
    await fill();
    expect(await refusalOf(home.owner.token, streamPath(abroad.board_id))).toEqual(OF_CALLER);
  });
});

test("a stream that reaches its time limit stops counting against the budget before its response ends", async () => {
  const world = await createWorld({ environment, streams: { poll_ms: POLL_MS, count_in: "database", max_seconds: 1 } });
  const home = await world.tenant("home");
  const send = (target: string, init: RequestInit) => world.app.request(target, init);
  const listener = await listen(send, streamPath(home.board_id), { token: home.owner.token });
  expect(await world.db.select().from(stream_leases)).toMatchObject([{ organization_id: home.organization_id }]);
  await listener.waitForEnd();
  expect(await world.db.select().from(stream_leases)).toEqual([]);
  await world.close();
});

test("a crashed process's streams stop counting after the time limit of streams, and their rows are removed", async () => {
  const world = await createWorld({ environment, streams: { poll_ms: POLL_MS, count_in: "database", max_seconds: 600 } });
  const home = await world.tenant("home");
  const crashed = Array.from({ length: PER_ORGANIZATION }, () => ({
    id: crypto.randomUUID(),
    caller_id: crypto.randomUUID(),
    organization_id: home.organization_id,
    expires_at: new Date(Date.now() - 1_000),
  }));
  await world.db.insert(stream_leases).values(crashed);
  const path = streamPath(home.board_id);
  const listener = await listen((target, init) => world.app.request(target, init), path, { token: home.owner.token });
  expect(listener.status).toBe(200);
  await scheduled.retention(world.context());
  expect(await world.db.select().from(stream_leases)).toHaveLength(1);
  await listener.close();
  await world.close();
});
