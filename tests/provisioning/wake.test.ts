import { type AgentStatus, agents } from "@board/core/schema/agent.sql";
import { activity_events, gateway_circuits, gateways, jobs } from "@board/core/schema/all-tables";
import { deliver } from "@board/api/work/handlers";
import { eq } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import {
  addAgent,
  addEmptyBoard,
  changeAgent,
  getAgentRow,
  interceptHostCalls,
  callsOf,
  createHostedWorld,
  filesOf,
  getAgentJob,
  listAgentJobs,
  messagesTo,
  SECOND_MS,
  stopHost,
  tokensOf,
  listActivityTypes,
} from "../support/provisioning.ts";
import { renew, setup } from "../support/fixtures.ts";

const ANSWER_MS = 30 * SECOND_MS;
const WAKES = 3;

const hosted = await setup(createHostedWorld());
const { world, host, home } = hosted;

beforeEach(() => hosted.reset());
const ann = renew(async () => addAgent(world, home, await addEmptyBoard(world, home)));

/** Provisions the agent and wakes it for the first time. */
async function provision(): Promise<void> {
  await world.drain();
  await world.db.delete(activity_events);
}
const row = () => getAgentRow(world, ann.id);
const checks = () => listAgentJobs(world, "agent.wake_check", ann.id);
const waiting = async () => (await checks()).filter(({ status }) => status === "queued");
const recordedEvents = () => listActivityTypes(world, ann.id);
const receivedMessages = () => messagesTo(host, ann);
const answer = () => world.call("GET", "/api/v1/agent/healthz", { agent: ann.auth_token });
const set = (values: Partial<typeof agents.$inferInsert>) => world.db.update(agents).set(values).where(eq(agents.id, ann.id));

test("an agent that was woken is checked half a minute later", async () => {
  const before = world.now();
  await provision();
  const { wake_attempts, last_wake_sent_at, checkin_deadline_at } = await row();
  expect([wake_attempts, checkin_deadline_at!.getTime() - last_wake_sent_at!.getTime()]).toEqual([1, ANSWER_MS]);
  expect(last_wake_sent_at!.getTime()).toBeGreaterThanOrEqual(before.getTime());
  expect(await checks()).toMatchObject([{ status: "queued", run_at: checkin_deadline_at, lane: null }]);
  await world.drain();
  expect([(await checks()).length, receivedMessages().length]).toEqual([1, 1]);
});

test("an agent that does not answer is woken three times with the same text, and then it is offline", async () => {
  await provision();
  const { agent_token_lookup, updated_at } = await row();
  for (let wakes = 1; wakes <= WAKES; wakes++) {
    expect([receivedMessages().length, (await row()).status, (await row()).wake_attempts]).toEqual([wakes, "ready", wakes]);
    world.elapse(ANSWER_MS);
    await world.drain();
  }
  const error = "The agent did not check in after 3 wake-ups.";
  expect(await row()).toMatchObject({
    status: "offline",
    last_provision_error: error,
    wake_attempts: 0,
    checkin_deadline_at: null,
    agent_token_lookup,
  });
  expect(await recordedEvents()).toEqual(["agent.wakeup.sent", "agent.wakeup.sent", "agent.disconnected", "agent.error"]);
  expect(new Set(receivedMessages().map(({ message, deliver }) => `${deliver} ${message}`)).size).toBe(1);
  expect(new Set(receivedMessages().map(({ idempotency_key }) => idempotency_key)).size).toBe(WAKES);
  expect([callsOf(host, "sessions.reset").length, tokensOf(host, ann)]).toEqual([1, [["AGENTS.md", ann.auth_token]]]);
  expect([await waiting(), updated_at < (await row()).updated_at]).toEqual([[], true]);
  world.elapse(ANSWER_MS);
  await world.drain();
  expect(receivedMessages()).toHaveLength(WAKES);
});

test("an agent that is woken twice has one session, its files and its token, and one answer ends both wakes", async () => {
  await provision();
  const session = host.host.sessions.get(ann.openclaw_session_id)!.sessionId;
  const files = filesOf(host, ann);
  world.elapse(ANSWER_MS);
  await world.drain();
  expect(receivedMessages()).toHaveLength(2);
  expect((await answer()).body).toMatchObject({ agent_id: ann.id });
  expect(await row()).toMatchObject({
    status: "online",
    wake_attempts: 0,
    checkin_deadline_at: null,
    last_provision_error: null,
  });
  expect([host.host.sessions.get(ann.openclaw_session_id)!.sessionId, filesOf(host, ann)]).toEqual([session, files]);
  world.elapse(ANSWER_MS);
  await world.drain();
  expect([receivedMessages().length, (await row()).status, await waiting()]).toEqual([2, "online", []]);
});

test("waking an agent again is not a change that people see", async () => {
  await provision();
  const { updated_at, change_seq } = await row();
  world.elapse(ANSWER_MS);
  await world.drain();
  expect(await row()).toMatchObject({ wake_attempts: 2, updated_at, change_seq });
});

test.each([1, 2, 3])("any request of the agent after wake %i ends the wake cycle", async (wakes) => {
  await provision();
  for (let more = 1; more < wakes; more++) {
    world.elapse(ANSWER_MS);
    await world.drain();
  }
  await answer();
  world.elapse(ANSWER_MS);
  await world.drain();
  expect([receivedMessages().length, await waiting()]).toEqual([wakes, []]);
  expect(await row()).toMatchObject({
    status: "online",
    wake_attempts: 0,
    checkin_deadline_at: null,
    last_provision_error: null,
  });
});

test("a request that arrives before the wake is recorded counts as an answer", async () => {
  const answering = interceptHostCalls(world, async (method, call) => {
    const sent = await call();
    if (method === "chat.send") await answer();
    return sent;
  });
  await answer();
  await deliver(answering(), (await getAgentJob(world, "agent.provision", ann.id)).id);
  expect([await checks(), await row()]).toMatchObject([[], { status: "online", wake_attempts: 0, checkin_deadline_at: null }]);
});

test("a request while the agent is being woken again counts as an answer", async () => {
  await provision();
  const [check] = await waiting();
  world.elapse(ANSWER_MS);
  const answering = interceptHostCalls(world, async (method, call) => {
    const sent = await call();
    if (method === "chat.send") await answer();
    return sent;
  });
  await deliver(answering(), check!.id);
  expect([await waiting(), await row()]).toMatchObject([[], { status: "online", wake_attempts: 0, checkin_deadline_at: null }]);
});

test("a wake check that comes too early waits", async () => {
  await provision();
  const [check] = await waiting();
  await world.db.update(jobs).set({ run_at: world.now() }).where(eq(jobs.id, check!.id));
  await world.drain();
  expect(await waiting()).toMatchObject([{ run_at: check!.run_at }]);
  expect([receivedMessages().length, (await row()).wake_attempts]).toEqual([1, 1]);
});

test("a wake check that is repeated after a crash wakes no agent twice", async () => {
  await provision();
  const [check] = await waiting();
  world.elapse(ANSWER_MS);
  const crashing = interceptHostCalls(world, async (method, call) => {
    await call();
    if (method === "chat.send") throw new Error("the worker is gone");
  });
  await expect(deliver(crashing(), check!.id)).rejects.toThrow("the worker is gone");
  await deliver(world.context(), check!.id);
  expect([receivedMessages().length, (await row()).wake_attempts, (await waiting()).length]).toEqual([2, 2, 1]);
});

test("a host that is down counts as no answer to the wake-up, and the error is recorded", async () => {
  await provision();
  await stopHost(world, host);
  world.elapse(ANSWER_MS);
  await world.drain();
  expect(await row()).toMatchObject({
    status: "ready",
    wake_attempts: 2,
    last_provision_error: expect.stringContaining("ECONNREFUSED"),
  });
  for (let more = 1; more < WAKES; more++) {
    world.elapse(ANSWER_MS);
    await world.drain();
  }
  expect([(await row()).status, await recordedEvents()]).toEqual(["offline", ["agent.disconnected", "agent.error"]]);
  expect((await checks()).map(({ status }) => status)).toEqual(["done", "done", "done"]);
});

test("a host whose circuit is open is not called, which counts as no answer to the wake-up too", async () => {
  await provision();
  world.elapse(ANSWER_MS);
  const times = { retry_at: new Date(world.now().getTime() + 60 * SECOND_MS), changed_at: world.now() };
  await world.db.update(gateways).set({ connected: false }).where(eq(gateways.id, home.gateway_id));
  await world.db
    .insert(gateway_circuits)
    .values({ gateway_id: home.gateway_id, failures: 6, last_error: "The host is down", ...times });
  host.calls.length = 0;
  await world.drain();
  expect([await row(), host.calls]).toMatchObject([{ wake_attempts: 2, last_provision_error: "The host is down" }, []]);
  await world.db.delete(gateway_circuits);
});

test.each<[string, () => Promise<unknown>]>([
  ["is deleted", () => world.db.delete(agents).where(eq(agents.id, ann.id))],
  ["is being deleted", () => set({ status: "deleting" })],
  ["has started a new generation", () => set({ lifecycle_generation: 2 })],
])("an agent that %s is not woken any more", async (_what, happen) => {
  await provision();
  await happen();
  world.elapse(ANSWER_MS);
  await world.drain();
  expect([receivedMessages().length, await waiting()]).toEqual([1, []]);
});

test.each<[AgentStatus, string[]]>([
  ["online", ["agent.disconnected", "agent.error"]],
  ["offline", ["agent.error"]],
])("an agent that is %s and does not answer the last wake ends offline", async (status, expected) => {
  await provision();
  await set({ status, wake_attempts: WAKES });
  world.elapse(ANSWER_MS);
  await world.drain();
  expect([(await row()).status, await recordedEvents()]).toEqual(["offline", expected]);
});

/** Reports idle use of an agent, which spends 10 tokens of its budgets. */
const spend = async (agent: { auth_token: string }) => {
  const body = { entries: [{ key: crypto.randomUUID(), input_tokens: 10 }] };
  expect((await world.call("POST", "/api/v1/agent/usage", { agent: agent.auth_token, body })).body.accepted).toBe(1);
};
const person = () => ({ token: home.owner.token });
const createBudget = async (fields: object): Promise<string> =>
  (await world.call("POST", "/api/v1/budgets", { ...person(), body: { period: "total", ...fields } })).body.id;
const raise = (budget_id: string) =>
  world.call("PATCH", `/api/v1/budgets/${budget_id}`, { ...person(), body: { limit: { total_tokens: 100 } } });
const elapseChecks = async (times: number) => {
  for (let check = 0; check < times; check++) {
    world.elapse(ANSWER_MS);
    await world.drain();
  }
};

test("an agent that has not answered is not woken again while another agent's idle use has spent the budget of their board", async () => {
  await provision();
  const { board_id } = await row();
  const other = await addAgent(world, home, board_id!, { name: "Other" });
  const budget_id = await createBudget({ scope: "board", scope_id: board_id, limit: { total_tokens: 10 } });
  await spend(other);
  await elapseChecks(WAKES + 1);
  expect([receivedMessages().length, (await row()).wake_attempts]).toEqual([1, 1]);
  await raise(budget_id);
  await elapseChecks(1);
  expect(receivedMessages()).toHaveLength(2);
});

test("an agent whose idle use has spent its budget gets its files, but is not woken until the budget has room", async () => {
  await provision();
  await answer();
  const budget_id = await createBudget({ scope: "agent", scope_id: ann.id, limit: { total_tokens: 10 } });
  await spend(ann);
  await changeAgent(hosted, ann, { name: "Anna" });
  await world.drain();
  await elapseChecks(WAKES + 1);
  expect([...filesOf(host, ann).values()].join()).toContain("Anna");
  expect([receivedMessages().length, (await row()).wake_attempts]).toEqual([1, 0]);
  expect(await recordedEvents()).not.toContain("agent.wakeup.sent");
  await raise(budget_id);
  await elapseChecks(1);
  expect([receivedMessages().length, (await row()).wake_attempts]).toEqual([2, 1]);
  expect(await recordedEvents()).toContain("agent.wakeup.sent");
  await answer();
  expect([await row(), await waiting()]).toMatchObject([{ status: "online", checkin_deadline_at: null }, [{}]]);
  await elapseChecks(1);
  expect([receivedMessages().length, await waiting()]).toEqual([2, []]);
});

test("a new agent on a board whose budget is spent is provisioned without being woken, and is not woken after its first request either", async () => {
  const { board_id } = await row();
  const other = await addAgent(world, home, board_id!, { name: "Other" });
  await createBudget({ scope: "board", scope_id: board_id, limit: { total_tokens: 10 } });
  await spend(other);
  await provision();
  expect([(await row()).status, filesOf(host, ann).size > 0, receivedMessages()]).toEqual(["ready", true, []]);
  expect(await waiting()).toHaveLength(1);
  await answer();
  await elapseChecks(1);
  expect([(await row()).status, receivedMessages(), await waiting()]).toEqual(["online", [], []]);
});

test("a spent limit of runs does not keep an agent from being woken", async () => {
  const { board_id } = await row();
  await createBudget({ scope: "board", scope_id: board_id, limit: { runs: 0 } });
  await provision();
  expect(receivedMessages()).toHaveLength(1);
});
