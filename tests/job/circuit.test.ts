import { gateway_circuits, jobs } from "@board/core/schema/all-tables";
import { deliver } from "@board/api/work/handlers";
import { scheduled } from "@board/api/work/schedules";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { setupHostedTenants } from "../support/gateway-fixture.ts";
import { stopHost } from "../support/provisioning.ts";
import { addNotices, getJob, relayOnce } from "../support/jobs.ts";

const SECOND_MS = 1_000;
/** Longer than the circuit's wait after the first failure, including the jitter of the waiting jobs. */
const FIRST_WAIT_MS = 3 * SECOND_MS;
/** After this time a trial whose process was killed lets another job try. */
const TRIAL_MS = 30 * SECOND_MS;
const LANES = ["a", "b", "c"];

/** The clock moves only when a test moves it, because a pause of the machine can be longer than the first wait. */
const STARTED = new Date();
const { world, host, home } = await setupHostedTenants({ clock: () => STARTED });

beforeEach(async () => {
  await host?.start();
  host.faults.delays_ms = {};
  await world.db.delete(jobs);
  world.log.length = 0;
  world.measurements.length = 0;
});

const read = (ids: string[]) => Promise.all(ids.map((id) => getJob(world, id)));
const findCircuit = async () =>
  (await world.db.select().from(gateway_circuits).where(eq(gateway_circuits.gateway_id, home.gateway_id)))[0];
const work = (id: string) => deliver(world.context(), id);
const loggedCircuits = () => world.log.map(({ event }) => event).filter((event) => event.startsWith("gateway.circuit_"));
const call = (method: string, path: string, body?: object) => world.call(method, path, { token: home.owner.token, body });

/** Stops the host and delivers jobs, of which the first opens the circuit. */
async function openCircuit(lanes = LANES): Promise<string[]> {
  await stopHost(world, host);
  const ids = await addNotices(world, home, lanes);
  for (const id of ids) await work(id);
  return ids;
}

/** Runs due jobs in steps, until the time is over. */
async function passTime(ms: number, step_ms = 5 * SECOND_MS): Promise<void> {
  for (let passed = 0; passed < ms; passed += step_ms) {
    world.elapse(step_ms);
    await world.drain();
  }
}

describe("a host that is down", () => {
  test("the first job finds that the host is down, and the other jobs wait for the host without an attempt", async () => {
    const ids = await openCircuit();
    expect(await read(ids)).toMatchObject([
      { status: "queued", attempts: 1, held_by: null },
      { status: "queued", attempts: 0, held_by: "circuit" },
      { status: "queued", attempts: 0, held_by: "circuit" },
    ]);
    expect(await findCircuit()).toMatchObject({ failures: 1, half_open: false });
    expect(world.log.find(({ event }) => event === "gateway.circuit_opened")).toMatchObject({
      level: "warn",
      gateway_id: home.gateway_id,
      error: expect.stringContaining("ECONNREFUSED"),
    });
    expect(world.measurements).toContainEqual({ name: "CircuitChanges", value: 1, dimensions: { state: "open" } });
  });

  test("the wait doubles with each failed try, up to a minute, and the circuit is reported as opened once", async () => {
    await openCircuit();
    const waits: number[] = [];
    for (let failures = 1; failures <= 7; failures++) {
      const circuit = await findCircuit();
      expect(circuit!.failures).toBe(failures);
      waits.push((circuit!.retry_at.getTime() - circuit!.changed_at.getTime()) / SECOND_MS);
      // A new job tries the host again as soon as the wait is over.
      world.elapse(circuit!.retry_at.getTime() - world.now().getTime());
      await addNotices(world, home, [`later ${failures}`]);
      await world.drain();
    }
    expect(waits.map(Math.round)).toEqual([2, 4, 8, 16, 32, 60, 60]);
    expect(loggedCircuits()).toEqual(["gateway.circuit_opened"]);
  });

  test("attempts that run at the same time count as one failure", async () => {
    const ids = await addNotices(world, home, LANES);
    await host.stop();
    await Promise.all(ids.map(work));
    expect(await findCircuit()).toMatchObject({ failures: 1 });
  });

  test("jobs that wait for a host longer than all retries would take become dead, with the host's error and a failure event", async () => {
    await openCircuit();
    const started = world.now().getTime();
    await passTime(600 * SECOND_MS);
    const ended = (await world.db.select().from(jobs)).filter(({ kind }) => kind === "notice");
    expect(ended.map(({ status }) => status)).toEqual(["dead", "dead", "dead"]);
    for (const { attempts, finished_at, last_error } of ended) {
      expect(attempts).toBeLessThanOrEqual(6);
      expect(last_error).toContain("ECONNREFUSED");
      // The retries of a notification take 270 s, with 10 % jitter.
      expect(finished_at!.getTime() - started).toBeGreaterThan(240 * SECOND_MS);
    }
    expect(world.log.filter(({ event }) => event === "jobs.dead")).toHaveLength(3);
  });

  test("the only job of a host makes all its attempts at the usual times", async () => {
    const [id] = await openCircuit(["alone"]);
    for (const [attempt, seconds] of [10, 20, 40, 80, 120].entries()) {
      const job = await getJob(world, id!);
      const wait_ms = job.run_at.getTime() - world.now().getTime();
      expect([job.status, job.attempts, Math.round(wait_ms / SECOND_MS / seconds)]).toEqual(["queued", attempt + 1, 1]);
      world.elapse(wait_ms);
      await world.drain();
    }
    expect(await getJob(world, id!)).toMatchObject({ status: "dead", attempts: 6 });
  });
});

describe("a trial call to a host that was down", () => {
  test("one job makes the trial call, the other jobs wait for its result, and its success releases them at once", async () => {
    const ids = await openCircuit();
    await host.start();
    host.faults.delays_ms["chat.send"] = 300;
    world.elapse(FIRST_WAIT_MS);
    const trial = work(ids[1]!);
    await vi.waitUntil(async () => (await findCircuit())?.half_open === true, { timeout: 30_000 });
    await work(ids[2]!);
    expect(await getJob(world, ids[2]!)).toMatchObject({ status: "queued", attempts: 0, held_by: "circuit" });
    await trial;
    expect(await findCircuit()).toBeUndefined();
    expect((await relayOnce(world)).filter(({ id }) => id === ids[2])).toMatchObject([{ delay_seconds: 0 }]);
    expect(world.log.find(({ event }) => event === "gateway.circuit_closed")).toMatchObject({ released: 1 });
    await work(ids[2]!);
    expect(host.messages.map(({ message }) => message)).toEqual(["Hello b", "Hello c"]);
  });

  test("a trial call whose process was killed blocks the other jobs for half a minute at most", async () => {
    const ids = await openCircuit();
    await host.start();
    host.faults.delays_ms["chat.send"] = Number.POSITIVE_INFINITY;
    host.calls.length = 0;
    world.elapse(FIRST_WAIT_MS);
    void work(ids[1]!).catch(() => {});
    await vi.waitUntil(async () => (await findCircuit())?.half_open === true, { timeout: 30_000 });
    // The worker hangs in its call before the clock moves on.
    await vi.waitUntil(() => host.calls.some(({ method }) => method === "chat.send"), { timeout: 30_000 });
    host.faults.delays_ms = {};
    world.elapse(TRIAL_MS * 1.25);
    await work(ids[2]!);
    expect(await getJob(world, ids[2]!)).toMatchObject({ status: "done", attempts: 1 });
    expect(await findCircuit()).toBeUndefined();
  });

  test("a job that ends without a call to the host leaves the trial call to the next job", async () => {
    const ids = await openCircuit();
    world.elapse(FIRST_WAIT_MS);
    await world.db
      .update(jobs)
      .set({ payload: { gateway_id: crypto.randomUUID() } })
      .where(eq(jobs.id, ids[1]!));
    await work(ids[1]!);
    expect(await getJob(world, ids[1]!)).toMatchObject({ last_error: null, held_by: null, attempts: 1, status: "done" });
    await work(ids[2]!);
    expect(await getJob(world, ids[2]!)).toMatchObject({ status: "queued", attempts: 1 });
  });

  test("a host that answers with a refusal is not down: its circuit closes and each job gets its own answer", async () => {
    const ids = await openCircuit();
    await host.start();
    host.failNext("connect", { message: "unauthorized: gateway token mismatch" }, LANES.length);
    await passTime(15 * SECOND_MS);
    expect(await read(ids)).toMatchObject(LANES.map(() => ({ status: "dead", last_error: expect.stringContaining("token") })));
    expect(await findCircuit()).toBeUndefined();
  });
});

describe("other contacts with the host", () => {
  test("a person's request reaches the host while the circuit is open, closes it and releases the jobs", async () => {
    const ids = await openCircuit();
    await host.start();
    const status = await call("GET", `/api/v1/gateways/status?gateway_id=${home.gateway_id}`);
    expect(status.body).toMatchObject({ connected: true });
    expect(await findCircuit()).toBeUndefined();
    await world.drain();
    expect((await read(ids)).map(({ status }) => status)).toEqual(["queued", "done", "done"]);
  });

  test("a person's request that fails does not open the circuit", async () => {
    await host.stop();
    const status = await call("GET", `/api/v1/gateways/status?gateway_id=${home.gateway_id}`);
    expect(status.body).toMatchObject({ connected: false });
    expect(await findCircuit()).toBeUndefined();
  });

  test("a probe runs while the circuit is open and closes it", async () => {
    await openCircuit();
    await host.start();
    await scheduled.probe(world.context());
    const probe = (await world.db.select().from(jobs)).find(
      ({ kind, gateway_id }) => kind === "gateway.probe" && gateway_id === home.gateway_id,
    );
    await world.db.update(jobs).set({ run_at: world.now() }).where(eq(jobs.id, probe!.id));
    await work(probe!.id);
    expect([await findCircuit(), loggedCircuits()]).toEqual([undefined, ["gateway.circuit_opened", "gateway.circuit_closed"]]);
  });

  test("a gateway that gets a new address is tried at once", async () => {
    const ids = await openCircuit();
    await host.start();
    await call("PATCH", `/api/v1/gateways/${home.gateway_id}`, { url: `${host.url}/other`, token: "test-token-123" });
    await world.drain();
    expect((await read(ids.slice(1))).map(({ status }) => status)).toEqual(["done", "done"]);
  });
});
