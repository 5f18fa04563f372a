import { createServer, type AddressInfo } from "node:net";
import { activity_events, gateway_circuits, jobs, tasks } from "@board/core/schema/all-tables";
import { and, eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { addNotices } from "../../support/jobs.ts";
import { cleanUpPrograms } from "../../support/program.ts";
import { openPullBoard, type PullAgent, type PullBoard } from "../../support/pull-board.ts";
import { skipProvisioning } from "../../support/skip-provisioning.ts";
import { callAt, type Cluster, openCluster, type Reply } from "./cluster.ts";

const RATE = 20;
const FAILURES = 10;
const MINUTE_MS = 60_000;
/** Rates are counted per clock minute. A test of a rate therefore starts only when at least this much of the minute is left. */
const NEEDED_MS = 20_000;
const WAIT = { timeout: 2 * MINUTE_MS, interval: 100 };

afterAll(cleanUpPrograms);

describe.for([
  [2, "on"],
  [4, "off"],
] as const)("%i processes with DATABASE_NOTIFY=%s", ([size, notify]) => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await openCluster(size, {
      DATABASE_NOTIFY: notify,
      WEBHOOK_RATE_PER_MINUTE: String(RATE),
      AUTH_FAILURES_PER_MINUTE: String(FAILURES),
    });
  });
  afterAll(() => cluster?.close());

  const at = (turn: number) => cluster.processes[turn % size]!;
  const sendAll = (count: number, send: (turn: number) => Promise<Reply>) =>
    Promise.all(Array.from({ length: count }, (_, turn) => send(turn)));
  const countOf = (replies: readonly Reply[], status: number) => replies.filter((reply) => reply.status === status).length;
  const beginMinute = () => vi.waitUntil(() => MINUTE_MS - (Date.now() % MINUTE_MS) > NEEDED_MS, WAIT);
  const takeNext = (agent: PullAgent, turn: number) =>
    callAt(at(turn), "POST", "/api/v1/agent/tasks/next", { agent: agent.token, body: { parallel: true } });

  async function addAgents(home: PullBoard, count: number): Promise<PullAgent[]> {
    const agents: PullAgent[] = [];
    for (let number = 0; number < count; number++) agents.push(await home.addAgent(`Agent ${number}`));
    return agents;
  }

  test("posts to a webhook at all processes count toward one rate limit", async () => {
    const home = await openPullBoard(cluster.world, "posts");
    const hooks = `/api/v1/boards/${home.board_id}/webhooks`;
    const made = await callAt(at(0), "POST", hooks, { token: home.owner.token, body: { description: "Sort it" } });
    await beginMinute();
    const posts = await sendAll(3 * RATE, (turn) => callAt(at(turn), "POST", made.body.endpoint_path, { body: { turn } }));
    expect([countOf(posts, 202), countOf(posts, 429)]).toEqual([RATE, 2 * RATE]);
  });

  test("failed sign-ins at all processes count together, and above the limit every process refuses the client's address", async () => {
    await beginMinute();
    const guess = (turn: number) => callAt(at(turn), "GET", "/api/v1/agent/inbox", { agent: `guess-${turn}` });
    const guesses = await sendAll(FAILURES, guess);
    expect(countOf(guesses, 401)).toBe(FAILURES);
    expect((await sendAll(size, guess)).map(({ status }) => status)).toEqual(Array.from({ length: size }, () => 429));
  });

  test("only one job at a time, of all processes, tries a host that is down", async () => {
    const { db } = cluster.world;
    let connections = 0;
    const host = createServer((socket) => {
      connections++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => host.listen(0, "127.0.0.1", resolve));
    const home = await cluster.world.tenant(`down ${notify}`, `ws://127.0.0.1:${(host.address() as AddressInfo).port}`);
    await skipProvisioning(db);
    const ofGateway = eq(jobs.gateway_id, home.gateway_id);
    const findCircuit = async () =>
      (await db.select().from(gateway_circuits).where(eq(gateway_circuits.gateway_id, home.gateway_id)))[0];
    await addNotices(cluster.world, home, ["first"]);
    await vi.waitUntil(findCircuit, WAIT);
    const before = connections;
    const { failures } = (await findCircuit())!;
    await addNotices(
      cluster.world,
      home,
      Array.from({ length: 40 }, (_, lane) => `lane-${lane}`),
    );
    await vi.waitUntil(async () => (await findCircuit())!.failures >= failures + 3, WAIT);
    const tried = (await findCircuit())!.failures - failures;
    // A trial that has begun since is not counted as a failure yet.
    expect(connections - before - tried).toBeOneOf([0, 1]);
    await db.delete(jobs).where(ofGateway);
    await new Promise((resolve) => host.close(resolve));
  });

  test("all processes together begin as many runs as the budget allows", async () => {
    const [runs, tries] = [5, 12];
    const home = await openPullBoard(cluster.world, `runs ${notify}`);
    for (let number = 0; number < tries; number++) await home.addTask();
    const limit = { scope: "board", scope_id: home.board_id, limit: { runs } };
    const budget = await callAt(at(0), "POST", "/api/v1/budgets", { token: home.owner.token, body: limit });
    const agents = await addAgents(home, tries);
    const answers = await sendAll(tries, (turn) => takeNext(agents[turn]!, turn));
    expect(answers.filter(({ body }) => body.task !== null)).toHaveLength(runs);
    expect(answers.filter(({ body }) => body.reason === "budget_exhausted")).toHaveLength(tries - runs);
    const read = await callAt(at(1), "GET", `/api/v1/budgets/${budget.body.id}`, { token: home.owner.token });
    expect(read.body).toMatchObject({ state: "exhausted", spent: { runs } });
  });

  test("spending at one process that uses up a budget stops the runs at all processes", async () => {
    const home = await openPullBoard(cluster.world, `money ${notify}`);
    for (let number = 0; number < size; number++) await home.addTask();
    const limit = { scope: "organization", limit: { cost_usd: "10" } };
    await callAt(at(0), "POST", "/api/v1/budgets", { token: home.owner.token, body: limit });
    const agents = await addAgents(home, size);
    const taken = await sendAll(size, (turn) => takeNext(agents[turn]!, turn));
    const entries = (turn: number) => [{ key: `turn-${turn}`, task_id: taken[turn]!.body.task.id, cost_usd: "9" }];
    await sendAll(size, (turn) =>
      callAt(at(turn), "POST", "/api/v1/agent/usage", { agent: agents[turn]!.token, body: { entries: entries(turn) } }),
    );
    await home.addTask();
    const refused = await sendAll(size, (turn) => takeNext(agents[turn]!, turn));
    expect(new Set(refused.map(({ body }) => body.reason))).toEqual(new Set(["budget_exhausted"]));
    const held = await cluster.world.db.$count(tasks, and(eq(tasks.board_id, home.board_id), eq(tasks.status, "in_progress")));
    expect(held, "the runs were stopped").toBe(0);
  });

  test("each task is taken at one process only, its lease is renewed at another, and an expired lease ends once", async () => {
    const [COUNT, AGENTS] = [80, 8];
    const { db } = cluster.world;
    const home = await openPullBoard(cluster.world, `leases ${notify}`);
    for (let number = 0; number < COUNT; number++) await home.addTask();
    const agents = await addAgents(home, AGENTS);
    const taken: { id: string; fence: number }[] = [];
    const work = async (agent: PullAgent, first: number) => {
      for (let turn = first; ; turn++) {
        const { status, body } = await takeNext(agent, turn);
        expect(status).toBe(200);
        if (body.task === null) return;
        taken.push({ id: body.task.id, fence: body.lease.fence });
      }
    };
    await Promise.all(agents.map(work));
    expect([taken.length, new Set(taken.map(({ id }) => id)).size]).toEqual([COUNT, COUNT]);

    const [held] = await db.select().from(tasks).where(eq(tasks.id, taken[0]!.id));
    const holder = agents.find(({ id }) => id === held!.assigned_agent_id)!;
    const lease = `/api/v1/agent/boards/${home.board_id}/tasks/${held!.id}/lease`;
    const renewals = await sendAll(size, (turn) => callAt(at(turn), "PUT", lease, { agent: holder.token, body: {} }));
    expect(countOf(renewals, 200)).toBe(size);

    const ofBoard = and(eq(tasks.board_id, home.board_id), eq(tasks.status, "in_progress"));
    await db.update(tasks).set({ lease_expires_at: sql`now() - interval '1 second'` }).where(ofBoard);
    await vi.waitUntil(async () => (await db.$count(tasks, ofBoard)) === 0, WAIT);
    const expired = and(eq(activity_events.board_id, home.board_id), eq(activity_events.event_type, "task.lease_expired"));
    expect(await db.$count(activity_events, expired)).toBe(COUNT);
  });
});
