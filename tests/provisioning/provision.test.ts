import { tokenLookup } from "@board/core/agent/token";
import { agents, gateways, users } from "@board/core/schema/all-tables";
import { deliver } from "@board/api/work/handlers";
import { redriveJobs } from "@board/core/job/redrive";
import { and, eq, isNull } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { listEvents } from "../support/activity.ts";
import { startFakeGateway } from "../support/fake-gateway/server.ts";
import { QUESTION, createOnboarding } from "../support/onboarding.ts";
import {
  addAgent,
  addEmptyBoard,
  getAgentRow,
  interceptHostCalls,
  callsOf,
  createHostedWorld,
  filesOf,
  getAgentJob,
  MAX_RETRY_DELAY_MS,
  messagesTo,
  stopHost,
  tokensOf,
  listActivityTypes,
} from "../support/provisioning.ts";
import { setup } from "../support/fixtures.ts";

const ATTEMPTS = 8;
const BUSY = { code: "UNAVAILABLE", message: "The host is busy", retryAfterMs: 120_000 };

let board_id: string;

const hosted = await setup(createHostedWorld());
const { world, host, home } = hosted;

beforeEach(async () => {
  await hosted.reset();
  board_id = await addEmptyBoard(world, home);
});

const row = (agent: { id: string }) => getAgentRow(world, agent.id);
const jobOf = (agent: { id: string }) => getAgentJob(world, "agent.provision", agent.id);
const recordedEvents = (agent: { id: string }) => listActivityTypes(world, agent.id);
const agentWithToken = async (token: string) =>
  (await world.call("GET", "/api/v1/agent/healthz", { agent: token })).body?.agent_id;
const READY = ["agent.provisioned", "agent.provision.direct", "agent.wakeup.sent"];

describe("provisioning while the host is down", () => {
  test("an agent is created at once, and provisioned when its host is back", async () => {
    await stopHost(world, host);
    const ann = await addAgent(world, home, board_id);
    expect(ann).toMatchObject({ status: "provisioning" });
    await world.drain();
    expect(await jobOf(ann)).toMatchObject({
      status: "queued",
      attempts: 1,
      last_error: expect.stringContaining("ECONNREFUSED"),
    });
    expect(await row(ann)).toMatchObject({
      status: "provisioning",
      last_provision_error: expect.stringContaining("ECONNREFUSED"),
    });
    expect(await recordedEvents(ann)).toEqual([]);
    await host.start();
    world.elapse(MAX_RETRY_DELAY_MS);
    await world.drain();
    expect(await row(ann)).toMatchObject({ status: "ready", last_provision_error: null });
    expect([await recordedEvents(ann), tokensOf(host, { ...ann })]).toEqual([READY, [["AGENTS.md", ann.auth_token]]]);
  });

  test("the token of a new agent works at once, and an agent that comes online before its provisioning stays online", async () => {
    await stopHost(world, host);
    const ann = await addAgent(world, home, board_id);
    expect(await agentWithToken(ann.auth_token)).toBe(ann.id);
    await world.drain();
    await host.start();
    world.elapse(MAX_RETRY_DELAY_MS);
    await world.drain();
    expect(await row(ann)).toMatchObject({ status: "online", last_provision_error: null });
    expect(await recordedEvents(ann)).toEqual(["agent.connected", ...READY]);
    expect(await agentWithToken(ann.auth_token)).toBe(ann.id);
  });

  test("after the last attempt the agent is offline, which is recorded once, and the token is erased from the job", async () => {
    await stopHost(world, host);
    const ann = await addAgent(world, home, board_id);
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      expect((await row(ann)).status, `before attempt ${attempt}`).toBe("provisioning");
      await world.drain();
      world.elapse(MAX_RETRY_DELAY_MS);
    }
    await host.start();
    await world.drain();
    expect(await jobOf(ann)).toMatchObject({ status: "dead", attempts: ATTEMPTS, secret_sealed: null });
    expect(await row(ann)).toMatchObject({ status: "offline", last_provision_error: expect.stringContaining("ECONNREFUSED") });
    expect(await recordedEvents(ann)).toEqual(["agent.disconnected", "agent.provision.failed", "agent.error"]);
    expect(await agentWithToken(ann.auth_token)).toBe(ann.id);
  });
});

test("an agent that has come online by the time its job is dead stays online", async () => {
  const ann = await addAgent(world, home, board_id);
  await agentWithToken(ann.auth_token);
  host.failNext("agents.create", { message: "no more agents here" });
  await world.drain();
  expect(await row(ann)).toMatchObject({ status: "online", last_provision_error: "no more agents here" });
  expect(await recordedEvents(ann)).toEqual(["agent.connected", "agent.provision.failed", "agent.error"]);
});

test("a permanent refusal of the host ends the job at its first attempt, and a redriven job works without its token", async () => {
  const ann = await addAgent(world, home, board_id);
  host.failNext("agents.create", { message: "no more agents here" });
  await world.drain();
  const { id } = await jobOf(ann);
  expect(await row(ann)).toMatchObject({ status: "offline", last_provision_error: "no more agents here" });
  await redriveJobs(world.context(), [id]);
  await world.drain();
  expect(await row(ann)).toMatchObject({
    status: "ready",
    last_provision_error: "unable to read AUTH_TOKEN from TOOLS.md (agent: Ann, run with rotate_tokens=true)",
  });
  expect(tokensOf(host, ann)).toEqual([]);
});

describe("provisioning when messages are lost or workers crash", () => {
  test.each(["agents.create", "agents.files.set", "config.patch", "sessions.reset", "chat.send"])(
    "after a lost response to %s the agent is created once and messaged once",
    async (method) => {
      const ann = await addAgent(world, home, board_id);
      host.faults.lost_responses[method] = 1;
      await world.drain();
      expect(await jobOf(ann)).toMatchObject({ status: "done", attempts: 1 });
      expect([(await row(ann)).status, messagesTo(host, ann).length]).toEqual(["ready", 1]);
    },
  );

  test.each(["agents.create", "agents.update", "agents.files.set", "config.patch", "sessions.reset", "chat.send"])(
    "after a crash right after %s the next run completes the agent without a second message",
    async (method) => {
      const ann = await addAgent(world, home, board_id);
      const { id } = await jobOf(ann);
      const crashing = interceptHostCalls(world, async (name, call) => {
        const answer = await call();
        if (name === method) throw new Error("the worker is gone");
        return answer;
      });
      await expect(deliver(crashing(), id)).rejects.toThrow("the worker is gone");
      expect(await row(ann)).toMatchObject({ status: "provisioning", last_provision_error: null });
      await deliver(world.context(), id);
      expect(await jobOf(ann)).toMatchObject({ status: "done", secret_sealed: null });
      expect([await recordedEvents(ann), messagesTo(host, ann).length]).toEqual([READY, 1]);
      expect(tokensOf(host, ann)).toEqual([["AGENTS.md", ann.auth_token]]);
    },
  );

  test("a step that a busy host refuses is done by the next attempt, with the token that was issued", async () => {
    const ann = await addAgent(world, home, board_id);
    host.failNext("config.patch", BUSY);
    const before = world.now().getTime();
    await world.drain();
    const waiting = await jobOf(ann);
    expect(waiting).toMatchObject({ status: "queued", attempts: 1, last_error: BUSY.message });
    expect(waiting.run_at.getTime() - before).toBeGreaterThanOrEqual(BUSY.retryAfterMs);
    world.elapse(MAX_RETRY_DELAY_MS);
    await world.drain();
    expect(await row(ann)).toMatchObject({ status: "ready", last_provision_error: null });
    expect([tokensOf(host, ann), await agentWithToken(ann.auth_token)]).toEqual([[["AGENTS.md", ann.auth_token]], ann.id]);
  });
});

test("a new token replaces the old one only once the host has TOOLS.md", async () => {
  const ann = await addAgent(world, home, board_id);
  const { id } = await jobOf(ann);
  // Simulates a move of the agent: the job carries a token that is not yet stored for the agent.
  const old = "an-older-token";
  await world.db
    .update(agents)
    .set({ agent_token_lookup: tokenLookup(world.settings.token_pepper, old) })
    .where(eq(agents.id, ann.id));
  const seen: [string, unknown][] = [];
  const watching = interceptHostCalls(world, async (method, call) => {
    const file = host.calls.findLast((one) => one.method === "agents.files.set")?.params as { name: string } | undefined;
    if (method === "agents.files.set" || method === "config.patch") seen.push([file?.name ?? "none", await agentWithToken(old)]);
    return call();
  });
  await deliver(watching(), id);
  expect(seen[0]).toEqual(["none", ann.id]);
  expect(seen.at(-1)![1]).toBeUndefined();
  expect([await agentWithToken(old), await agentWithToken(ann.auth_token)]).toEqual([undefined, ann.id]);
});

test("a new token that the host refuses leaves the old one valid", async () => {
  const ann = await addAgent(world, home, board_id);
  const old = "another-older-token";
  await world.db
    .update(agents)
    .set({ agent_token_lookup: tokenLookup(world.settings.token_pepper, old) })
    .where(eq(agents.id, ann.id));
  host.failNext("agents.files.set", { message: "disk full" });
  await world.drain();
  expect([(await jobOf(ann)).status, await agentWithToken(old), await agentWithToken(ann.auth_token)]).toEqual([
    "dead",
    ann.id,
    undefined,
  ]);
});

test("a host too old for a lead's own files gets the other files, and the lead shows the error", async () => {
  const old = await startFakeGateway({ token: "test-token-123", dialect: "2026.2.9", version: "2026.2.8" });
  await world.db.update(gateways).set({ url: old.url }).where(eq(gateways.id, home.gateway_id));
  const lea = await addAgent(world, home, board_id, { name: "Lea", is_board_lead: true });
  await world.drain();
  await world.db.update(gateways).set({ url: host.url }).where(eq(gateways.id, home.gateway_id));
  const files = filesOf(old, lea);
  await old.close();
  const error = "Gateway rejected required lead workspace files as unsupported";
  expect(await row(lea)).toMatchObject({ status: "offline", last_provision_error: error });
  expect(files.get("SOUL.md")).not.toContain("Default text of the host");
});

describe("the files of a provisioned agent", () => {
  test("the files show the profile of the acting user", async () => {
    await world.db.update(users).set({ preferred_name: "Olivia", timezone: "Europe/Riga" }).where(eq(users.auth_subject, "home"));
    const ann = await addAgent(world, home, board_id);
    await world.drain();
    expect(filesOf(host, ann).get("USER.md")).toMatch(/Olivia[^]*Europe\/Riga/);
  });

  test("the files of several agents are written concurrently", async () => {
    const made = await Promise.all(["Bea", "Cid", "Dan"].map((name) => addAgent(world, home, board_id, { name })));
    await Promise.all(made.map(async (agent) => deliver(world.context(), (await jobOf(agent)).id)));
    for (const agent of made) expect(tokensOf(host, agent)).toEqual([["AGENTS.md", agent.auth_token]]);
  });
});

describe("agents created by other operations", () => {
  const NO_RESET = { reset: false, wake: true };

  test("the job for a worker that a lead created asks for a reset and a wake-up, permits no reply on its channel, and names no user", async () => {
    const lea = await addAgent(world, home, board_id, { name: "Lea", is_board_lead: true });
    const made = await world.call("POST", "/api/v1/agent/agents", { agent: lea.auth_token, body: { name: "Wim" } });
    // If the route for leads refuses the request, the lead uses the general route.
    const wim =
      made.status === 200 ? made : await world.call("POST", "/api/v1/agents", { agent: lea.auth_token, body: { name: "Wim" } });
    expect((await jobOf(wim.body)).payload).toMatchObject({ user_id: null, reset: true, wake: true, deliver: false });
  });

  test("the main agent of a new gateway is provisioned without a reset, and may reply on its own channel", async () => {
    const body = { name: "Rack", url: host.url, workspace_root: "/srv/agents", token: "test-token-123" };
    const { id } = (await world.call("POST", "/api/v1/gateways", { token: home.owner.token, body })).body;
    const mains = and(eq(agents.gateway_id, id), isNull(agents.board_id));
    const [main] = await world.db.select().from(agents).where(mains);
    expect((await jobOf(main!)).payload).toMatchObject({ ...NO_RESET, deliver: true, generation: 1 });
    await world.drain();
    const [[, token] = []] = tokensOf(host, main!);
    expect(await agentWithToken(token!)).toBe(main!.id);
    expect(callsOf(host, "sessions.reset")).toEqual([]);

    await world.db.delete(agents).where(mains);
    await world.call("PATCH", `/api/v1/gateways/${id}`, { token: home.owner.token, body: {} });
    const [again] = await world.db.select().from(agents).where(mains);
    expect((await jobOf(again!)).payload).toMatchObject({ ...NO_RESET, deliver: true });
  });

  test("the lead created by an onboarding is provisioned without a reset", async () => {
    const talk = await createOnboarding(world, home);
    await talk.start();
    await talk.reply({ question: QUESTION.question, options: QUESTION.options });
    const goal = { board_type: "general", objective: "Ship it" };
    expect((await talk.confirm(goal)).status).toBe(200);
    const [lead] = await world.db.select().from(agents).where(eq(agents.board_id, talk.board_id));
    expect((await jobOf(lead!)).payload).toMatchObject({ ...NO_RESET, deliver: false });
  });
});

test("the events of provisioning name the organization, the board and the acting user", async () => {
  const ann = await addAgent(world, home, board_id);
  await world.drain();
  const [user] = await world.db.select().from(users).where(eq(users.auth_subject, "home"));
  const events = await listEvents(world, { agent_id: ann.id });
  expect(events).toHaveLength(READY.length);
  for (const event of events)
    expect(event).toMatchObject({ organization_id: home.organization_id, board_id, user_id: user!.id, task_id: null });
});
