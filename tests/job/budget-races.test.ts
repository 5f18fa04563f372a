import { gateway_circuits, jobs } from "@board/core/schema/all-tables";
import { deliver } from "@board/api/work/handlers";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { type FakeGateway, startFakeGateway } from "../../packages/local/src/fake-gateway/server.ts";
import { addNotices } from "../support/jobs.ts";
import { openServerWorld, type ServerWorld } from "../support/postgres-world.ts";
import { stopHost } from "../support/provisioning.ts";
import { skipProvisioning } from "../support/skip-provisioning.ts";
import { createWorld, type Tenant, type World } from "../support/world.ts";

const BUDGET = 5;
const LANES = Array.from({ length: 20 }, (_, index) => `agent-${index}`);

let server: ServerWorld;
let host: FakeGateway;
let home: Tenant;
/** Two processes with one database. */
let worlds: World[];

beforeAll(async () => {
  host = await startFakeGateway({ token: "test-token-123" });
  const environment = { ORGANIZATION_RUNNING_JOBS: `${BUDGET}`, GATEWAY_RUNNING_JOBS: "0" };
  server = await openServerWorld({ environment });
  worlds = [server.world, await createWorld({ database: server.database, environment })];
  home = await server.world.tenant("home", host.url);
  await skipProvisioning(server.world.db);
}, 120_000);
afterAll(async () => {
  await worlds?.[1]?.close();
  await server?.close();
  await host?.close();
});
beforeEach(async () => {
  host.faults.delays_ms = {};
  await server.world.db.delete(jobs);
});

const listAll = () => server.world.db.select().from(jobs);
const deliverAll = (ids: string[]) => Promise.all(ids.map((id, index) => deliver(worlds[index % 2]!.context(), id)));

test("two processes that lease twenty jobs at once stay within the budget, and all jobs are done in the end", async () => {
  host.faults.delays_ms["chat.send"] = 100;
  const ids = await addNotices(server.world, home, LANES);
  let is_over = false;
  const watch = async () => {
    let most = 0;
    while (!is_over) most = Math.max(most, (await listAll()).filter(({ status }) => status === "running").length);
    return most;
  };
  const watched = watch();
  await deliverAll(ids);
  for (let left = ids; left.length > 0; ) {
    await server.world.db.update(jobs).set({ run_at: server.world.now() });
    await deliverAll(left);
    left = (await listAll()).filter(({ status }) => status !== "done").map(({ id }) => id);
  }
  is_over = true;
  expect([await watched, (await listAll()).every(({ attempts }) => attempts === 1)]).toEqual([BUDGET, true]);
});

test("a process waits for a host that another process found down, and one of them tries it", async () => {
  await Promise.all(worlds.map((world) => stopHost(world, host)));
  const ids = await addNotices(server.world, home, LANES);
  await deliver(worlds[0]!.context(), ids[0]!);
  await deliver(worlds[1]!.context(), ids[1]!);
  const [first, second] = (await listAll()).toSorted((a, b) => Number(a.seq - b.seq));
  expect([first, second]).toMatchObject([{ attempts: 1 }, { attempts: 0, held_by: "circuit" }]);
  await host.start();
  host.faults.delays_ms["chat.send"] = 500;
  for (const world of worlds) world.elapse(3_000);
  const trials = deliverAll(ids.slice(1));
  await vi.waitUntil(async () => (await server.world.db.select().from(gateway_circuits))[0]?.half_open);
  const tried = (await listAll()).filter(({ status }) => status === "running");
  expect(tried).toHaveLength(1);
  await trials;
  expect(await server.world.db.select().from(gateway_circuits)).toEqual([]);
});
