import { enqueueCleanup, enqueueCleanups } from "@board/core/agent/jobs";
import { type Context, transaction } from "@board/core/context/context";
import { agents, gateways, host_turns, jobs } from "@board/core/schema/all-tables";
import { deliver } from "@board/api/work/handlers";
import { and, eq, inArray } from "drizzle-orm";
import { afterAll, describe, expect, test } from "vitest";
import { agentsOf } from "../support/fake-gateway/config.ts";
import { type DialectName, dialects } from "../support/fake-gateway/dialect.ts";
import { type FakeGateway, startFakeGateway } from "../support/fake-gateway/server.ts";
import { createWorld, type Tenant } from "../support/world.ts";

const running: FakeGateway[] = [];

const world = await createWorld();
afterAll(async () => {
  await world?.close();
  await Promise.all(running.map((fake) => fake.close()));
});

const key = (id: string) => `agent:${id}:main`;
const settled = { restart_delay: 50, downtime: 50, starting: 20 };

/** Adds a tenant whose host still has these agents, although the service has no rows of them. */
async function start(dialect: DialectName, ...ids: string[]) {
  const fake = await startFakeGateway({ token: "test-token-123", dialect, timings: settled });
  running.push(fake);
  const home = await world.tenant(crypto.randomUUID(), fake.url);
  const target = { url: fake.url, token: "test-token-123", disable_device_pairing: false, allow_insecure_tls: false };
  for (const id of ids) {
    await world.context().gateways.request(target, "agents.create", { name: id, workspace: `/srv/agents/workspace-${id}` });
    fake.host.config.reload();
  }
  return {
    fake,
    home,
    target,
    left: () =>
      agentsOf(fake.host.config.file(), fake.host.dialect)
        .map(({ id }) => id)
        .filter((id) => ids.includes(id)),
  };
}

/** Enqueues a clean-up for each agent and runs all of them concurrently. Returns how they ended. */
async function cleanUp(home: Pick<Tenant, "gateway_id">, ids: string[], gateway_stays = true) {
  const [gateway] = await world.db.select().from(gateways).where(eq(gateways.id, home.gateway_id));
  await transaction(world.context(), async (ctx: Context) => {
    const removed = ids.map((id) => ({ name: id, board_id: null, openclaw_session_id: key(id) }));
    if (!gateway_stays) await enqueueCleanups(ctx, gateway!, removed);
    else for (const agent of removed) await enqueueCleanup(ctx, gateway!, agent);
  });
  const cleanups = (await world.db.select().from(jobs).where(eq(jobs.kind, "agent.cleanup"))).filter(
    ({ payload, status }) => status === "queued" && (payload as { gateway_id: string }).gateway_id === home.gateway_id,
  );
  if (!gateway_stays) await world.db.delete(gateways).where(eq(gateways.id, home.gateway_id));
  await Promise.all(cleanups.map(({ id }) => deliver(world.context(), id)));
  const ended = await world.db
    .select()
    .from(jobs)
    .where(
      inArray(
        jobs.id,
        cleanups.map(({ id }) => id),
      ),
    );
  return ended.map(({ status, last_error }) => [status, last_error]);
}

const DONE = ["done", null];

describe.concurrent.each(Object.keys(dialects) as DialectName[])("the clean-up on a host of version %s", (dialect) => {
  test("several agents that are deleted at once are all removed, even when writes are lost and hosts restart", async () => {
    const ids = ["mc-a", "mc-b", "mc-c", "mc-d"];
    const { fake, home, left } = await start(dialect, ...ids);
    fake.faults.restart_after_writes = true;
    fake.faults.lost_responses = { "agents.delete": 1 };
    expect(await cleanUp(home, ids)).toEqual(Array(4).fill(DONE));
    expect([left(), [...fake.host.files.keys()].filter((path) => path.includes("workspace-mc-"))]).toEqual([[], []]);
    const calls = fake.calls.filter(({ params }) => JSON.stringify(params ?? null).includes("mc-a"));
    const deleted = calls.find(({ method }) => method === "agents.delete")!;
    const aborted = calls.find(({ method }) => method === "chat.abort")!;
    expect(deleted.at - aborted.at).toBeGreaterThanOrEqual(4_990);
  });
});

describe.concurrent("the clean-up of a deleted agent", () => {
  test("a clean-up reaches the host after its gateway is deleted, and waits for the host's lock like other jobs", async () => {
    const { home, left } = await start("2026.2.26", "mc-a", "mc-b");
    await world.db.delete(agents).where(eq(agents.gateway_id, home.gateway_id));
    await world.call("DELETE", `/api/v1/boards/${home.board_id}`, { token: home.owner.token });
    expect(await cleanUp(home, ["mc-a", "mc-b"], false)).toEqual([DONE, DONE]);
    expect(left()).toEqual([]);
    expect(await world.db.select().from(host_turns).where(eq(host_turns.gateway_id, home.gateway_id))).toHaveLength(1);
  });

  test("a clean-up keeps an entry whose key a newer agent has, on this gateway or on another gateway of the host", async () => {
    const { fake, home, left } = await start("2026.9.6", "mc-a");
    await world.db
      .update(agents)
      .set({ openclaw_session_id: key("mc-a") })
      .where(eq(agents.id, home.worker.id));
    expect(await cleanUp(home, ["mc-a"])).toEqual([DONE]);
    const twin = await world.tenant(crypto.randomUUID(), fake.url);
    await world.db
      .update(agents)
      .set({ gateway_id: twin.gateway_id, board_id: twin.board_id, name: "Moved" })
      .where(eq(agents.id, home.worker.id));
    expect(await cleanUp(home, ["mc-a"])).toEqual([DONE]);
    expect([left(), fake.calls.filter(({ method }) => method === "chat.abort")]).toEqual([["mc-a"], []]);
  });

  test("a clean-up removes the entry that an agent left behind when it moved to another host", async () => {
    const { home, left } = await start("2026.9.6", "mc-b");
    const other = await start("2026.9.6", "mc-b");
    await world.db
      .update(agents)
      .set({ openclaw_session_id: key("mc-b") })
      .where(and(eq(agents.gateway_id, other.home.gateway_id), eq(agents.id, other.home.worker.id)));
    expect(await cleanUp(home, ["mc-b"])).toEqual([DONE]);
    expect([left(), other.left()]).toEqual([[], ["mc-b"]]);
  });

  test("a clean-up whose host is down waits for the next attempt, and the gateway shows the error", async () => {
    const home = await world.tenant(crypto.randomUUID());
    await world.db.update(gateways).set({ connected: true, last_error: null }).where(eq(gateways.id, home.gateway_id));
    const [end] = await cleanUp(home, ["mc-c"]);
    expect(end).toEqual(["queued", expect.any(String)]);
    const [gateway] = await world.db.select().from(gateways).where(eq(gateways.id, home.gateway_id));
    expect(gateway).toMatchObject({ connected: false, last_error: end![1] });
  });
});
