import { scheduled } from "@board/api/work/schedules";
import { callsOf, createHostedWorld, getAgentRow, addCheckedInAgent, SECOND_MS } from "../support/provisioning.ts";
import { beforeEach, expect, test } from "vitest";
import { renew, setup } from "../support/fixtures.ts";
import { addTask } from "../support/task.ts";

const hosted = await setup(createHostedWorld());
const { world, host, home } = hosted;

beforeEach(() => hosted.reset());
const ann = renew(async () => {
  const agent = await addCheckedInAgent(hosted);
  return { ...agent, board_id: (await getAgentRow(world, agent.id)).board_id! };
});

const owner = { token: home.owner.token };
const session = () => host.host.sessions.get(ann.openclaw_session_id!)!;
/** Sets what the host reports about the agent's session from now on. */
function tell(...told: [model: string, totals: Record<string, number>][]): void {
  session().usage = told.map(([model, totals]) => ({ provider: "fake", model, totals }));
}
/** Lets 90 seconds pass, and then runs the schedule and its jobs, which read the usage of the host. */
async function read(): Promise<void> {
  world.elapse(90 * SECOND_MS);
  await scheduled.lifecycle(world.context());
  await world.drain();
}
const figures = async () => {
  const { rows } = (await world.call("GET", "/api/v1/metrics/usage?group_by=agent", owner)).body;
  return rows.find(({ key }: { key: string }) => key === ann.id);
};
async function work(title: string) {
  const task = await addTask(world, { ...home, board_id: ann.board_id }, { title });
  const path = `/api/v1/agent/boards/${ann.board_id}/tasks/${task.id}`;
  await world.call("PUT", `${path}/lease`, { agent: ann.auth_token, body: {} });
  return {
    run: async () => (await world.call("GET", `/api/v1/boards/${ann.board_id}/tasks/${task.id}/runs`, owner)).body.items[0],
    end: () => world.call("DELETE", `${path}/lease`, { agent: ann.auth_token }),
  };
}

test("usage that a host reports after a wake-up is counted as idle use, once, with the host's price", async () => {
  tell(["opus", { input: 100, cacheRead: 800, cacheWrite: 100, output: 50, totalCost: 0.25 }]);
  await read();
  await read();
  const { idle, work, reported } = await figures();
  expect(reported).toBe(true);
  expect(idle).toMatchObject({ input_tokens: 1000, cached_input_tokens: 800, output_tokens: 50, cost_usd: "0.25", entries: 1 });
  expect(work.entries).toBe(0);
  expect(callsOf(host, "sessions.usage")).toHaveLength(1);
});

test("when a run ends, the usage that the host reports and that is not counted yet is added to the run, by model", async () => {
  tell(["opus", { input: 100, output: 10 }]);
  await read();
  const task = await work("Paint");
  tell(["opus", { input: 180, output: 15 }], ["haiku", { input: 7, output: 3, totalCost: 0.001 }]);
  await task.end();
  await read();
  const { usage } = await task.run();
  expect(usage).toMatchObject({ input_tokens: 87, output_tokens: 8, cost_usd: "0.001", turns: 2 });
  expect(usage.models.map(({ model }: { model: string }) => model)).toEqual(["haiku", "opus"]);
  expect((await figures()).idle).toMatchObject({ input_tokens: 100, cost_usd: null });
});

test("when a host session starts over, its usage is counted from its beginning", async () => {
  tell(["opus", { input: 100, output: 10 }]);
  await read();
  const task = await work("Paint");
  Object.assign(session(), { sessionId: crypto.randomUUID() });
  tell(["opus", { input: 30, output: 3 }]);
  await task.end();
  await read();
  expect((await task.run()).usage).toMatchObject({ input_tokens: 30, output_tokens: 3 });
});

test("usage that a host reports without models, and later by model, is counted only once", async () => {
  tell(["", { input: 100, output: 10, totalCost: 0.5 }]);
  await read();
  const task = await work("Paint");
  tell(["opus", { input: 90, output: 12, totalCost: 0.5 }], ["haiku", { input: 40, output: 3, totalCost: 0.1 }]);
  await task.end();
  await read();
  expect((await task.run()).usage).toMatchObject({ input_tokens: 30, output_tokens: 5, cost_usd: "0.1" });
  expect((await figures()).idle).toMatchObject({ input_tokens: 100, output_tokens: 10, cost_usd: "0.5" });
});

test("a host that is still counting is asked again, and the usage that it reports meanwhile is counted only once", async () => {
  const task = await work("Paint");
  session().counting = "nothing";
  await task.end();
  await read();
  expect(await figures()).toMatchObject({ reported: false });
  session().counting = "usage";
  tell(["opus", { input: 100, output: 10 }]);
  await read();
  delete session().counting;
  tell(["opus", { input: 180, output: 15 }]);
  await read();
  await read();
  expect((await task.run()).usage).toMatchObject({ input_tokens: 180, output_tokens: 15 });
  expect((await figures()).idle.entries).toBe(0);
  expect(callsOf(host, "sessions.usage")).toHaveLength(3);
});

test("a price that a host reports later than the tokens is counted too", async () => {
  session().counting = "usage";
  tell(["opus", { input: 100, output: 10 }]);
  await read();
  expect((await figures()).idle).toMatchObject({ input_tokens: 100, cost_usd: null });
  delete session().counting;
  tell(["opus", { input: 100, output: 10, totalCost: 0.25 }]);
  await read();
  expect((await figures()).idle).toMatchObject({ input_tokens: 100, output_tokens: 10, cost_usd: "0.25" });
});

test("an agent whose host cannot report usage is shown as not reported, and the host is asked only once", async () => {
  host.faults.failures = [
    { method: "sessions.usage", error: { code: "INVALID_REQUEST", message: "unknown method: sessions.usage" }, times: 9 },
  ];
  await read();
  await read();
  expect(callsOf(host, "sessions.usage")).toHaveLength(1);
  expect(await figures()).toMatchObject({ reported: false, idle: { input_tokens: null }, work: { input_tokens: null } });
});

test.each([
  ["no object", "usage"],
  [
    "lying numbers",
    { modelUsage: [{ model: "m", totals: { input: -5, output: "9", cacheRead: Number.NaN, totalCost: 1e300 } }] },
  ],
  ["a model that is no text", { modelUsage: [null, 7, { model: { x: 1 }, totals: [] }] }],
])("a host that reports %s causes no error", async (_about, usage) => {
  host.host.sessions.set(ann.openclaw_session_id!, { ...session(), usage: (usage as { modelUsage: never }).modelUsage ?? usage });
  await read();
  expect((await world.call("GET", "/api/v1/metrics/usage?group_by=agent", owner)).status).toBe(200);
});

test("usage that a host reports counts in budgets, and stops the runs under them", async () => {
  const body = { scope: "agent", scope_id: ann.id, limit: { total_tokens: 100 }, period: "total" };
  const budget = (await world.call("POST", "/api/v1/budgets", { ...owner, body })).body;
  const task = await work("Paint");
  tell(["opus", { input: 150, output: 0 }]);
  await read();
  expect((await task.run()).status).toBe("stopped");
  expect((await world.call("GET", `/api/v1/budgets/${budget.id}`, owner)).body.spent.total_tokens).toBe(150);
});
