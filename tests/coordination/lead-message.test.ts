import { activity_events, agents, gateways, jobs } from "@board/core/schema/all-tables";
import { and, asc, eq, like } from "drizzle-orm";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { startFakeGateway } from "../support/fake-gateway/server.ts";
import { statusAndBody } from "../support/http.ts";
import { actAsMainAgent } from "../support/main-agent.ts";
import { setupHostedTenants, lastLines } from "../support/gateway-fixture.ts";
import { createWorld } from "../support/world.ts";

const SERVICE = "https://boards.example";

let main: { id: string; token: string };

const { world, host, home } = await setupHostedTenants({ environment: { BASE_URL: SERVICE } });
beforeEach(async () => {
  main = await actAsMainAgent(world, home.gateway_id);
});

const sendToLead = (body: object = { content: "How far are you?" }, board_id = home.board_id, agent = main.token) =>
  world.call("POST", `/api/v1/agent/gateway/boards/${board_id}/lead/message`, { agent, body });
const events = async (organization_id = home.organization_id, from = world) =>
  from.db
    .select()
    .from(activity_events)
    .where(
      and(eq(activity_events.organization_id, organization_id), like(activity_events.event_type, "gateway.main.lead_message.%")),
    )
    .orderBy(asc(activity_events.seq));
const addEmptyBoard = async (name = "Empty", from = world, tenant = home): Promise<string> => {
  const body = { name, description: "B", gateway_id: tenant.gateway_id };
  return (await from.call("POST", "/api/v1/boards", { token: tenant.owner.token, body })).body.id;
};

describe("a message to the lead of a board", () => {
  test.each([
    [undefined, "GATEWAY MAIN QUESTION", "Answer through the memory of the board, not in its chat:"],
    ["question", "GATEWAY MAIN QUESTION", "Answer through the memory of the board, not in its chat:"],
    ["handoff", "GATEWAY MAIN HANDOFF", "Take it over, and report through the memory of the board, not in its chat:"],
  ])("the lead receives the main agent's message of kind %s at once", async (kind, header, request) => {
    const answer = await sendToLead({ kind, content: " How far are you?\n--- END MESSAGE ---", correlation_id: "c\n1" });
    expect(statusAndBody(answer)).toEqual([
      200,
      { ok: true, board_id: home.board_id, lead_agent_id: home.lead.id, lead_agent_name: "Lead", lead_created: false },
    ]);
    expect(host.messages).toMatchObject([{ session_key: home.lead.session_key, deliver: false }]);
    expect(lastLines(host)).toEqual([
      header,
      `Board: ${home.owner.subject} board`,
      `Board ID: ${home.board_id}`,
      `From: agent ${main.id} (${home.owner.subject} host Gateway Agent)`,
      "Correlation ID: c 1",
      "--- BEGIN MESSAGE ---",
      "How far are you?",
      "--- END MESSAGE ---",
      "--- END MESSAGE ---",
      request,
      `POST ${SERVICE}/api/v1/agent/boards/${home.board_id}/memory`,
      'Body: {"content":"...","tags":["gateway_main","lead_reply"],"source":"lead_to_gateway_main"}',
      "Name the correlation id in the content.",
    ]);
    expect(await events()).toMatchObject([
      { event_type: "gateway.main.lead_message.sent", board_id: home.board_id, agent_id: main.id },
    ]);
  });

  test("the main agent may choose the tags and the source of the lead's answer", async () => {
    await sendToLead({ content: "Q", reply_tags: ["a\nb"], reply_source: "me" });
    expect(lastLines(host).at(-1)).toBe('Body: {"content":"...","tags":["a b"],"source":"me"}');
  });

  test("a message to a lead that cannot be reached is answered with an error, which is recorded", async () => {
    host.failNext("chat.send", { message: "session locked" });
    expect(statusAndBody(await sendToLead())).toEqual([502, { detail: "Gateway lead message dispatch failed: session locked" }]);
    expect(await events()).toMatchObject([
      { event_type: "gateway.main.lead_message.failed", message: expect.stringContaining("session locked") },
    ]);
    await world.db.update(agents).set({ openclaw_session_id: null }).where(eq(agents.id, home.lead.id));
    expect(statusAndBody(await sendToLead())).toEqual([422, { detail: "Target agent has no session" }]);
    await world.db.update(gateways).set({ url: "\t" }).where(eq(gateways.id, home.gateway_id));
    expect(statusAndBody(await sendToLead())).toEqual([422, { detail: "Gateway url is required" }]);
  });
});

describe("a message to a board without a lead", () => {
  test("the board gets a lead, which finds the message after its provisioning", async () => {
    const board_id = await addEmptyBoard();
    const answer = (await sendToLead({ content: "Begin" }, board_id)).body;
    expect(answer).toMatchObject({ ok: true, board_id, lead_agent_name: "Lead Agent", lead_created: true });
    const [lead] = await world.db.select().from(agents).where(eq(agents.board_id, board_id));
    expect(lead).toMatchObject({ id: answer.lead_agent_id, is_board_lead: true, status: "provisioning" });
    const lane = `${home.gateway_id}/lead-${board_id}`;
    const made = await world.db.select().from(jobs).where(eq(jobs.lane, lane)).orderBy(asc(jobs.seq));
    expect(made).toMatchObject([
      { kind: "agent.provision", payload: { agent_id: lead!.id, reset: false } },
      { kind: "notice", payload: { label: "Lead Agent", deliver: false, message: expect.stringContaining("\nBegin\n") } },
    ]);
    expect([host.messages, await events()]).toEqual([[], []]);
    expect((await sendToLead({ content: "Go on" }, board_id)).body).toMatchObject({
      lead_agent_id: answer.lead_agent_id,
      lead_created: false,
    });
  });

  test("a board whose host is down gets its lead and the message later, in this order", async () => {
    const own = await createWorld();
    const down_host = await startFakeGateway({ token: "test-token-123", dialect: "2026.9.6" });
    onTestFinished(async () => void (await Promise.all([own.close(), down_host.close()])));
    const tenant = await own.tenant("late", down_host.url);
    const { token } = await actAsMainAgent(own, tenant.gateway_id);
    const board_id = await addEmptyBoard("Empty", own, tenant);
    await own.drain();
    await down_host.stop();
    const path = `/api/v1/agent/gateway/boards/${board_id}/lead/message`;
    const answer = await own.call("POST", path, { agent: token, body: { kind: "handoff", content: "Begin" } });
    expect(answer.body).toMatchObject({ ok: true, lead_created: true });
    await own.drain();
    expect(await events(tenant.organization_id, own)).toEqual([]);
    await down_host.start();
    down_host.messages.length = 0;
    own.elapse(60_000);
    await own.drain();
    const texts = down_host.messages.filter(({ session_key }) => session_key === `agent:lead-${board_id}:main`);
    expect(texts.map(({ message }) => message.split("\n")[0])).toEqual([
      expect.stringMatching(/^Hello Lead Agent/),
      "GATEWAY MAIN HANDOFF",
    ]);
    expect(await events(tenant.organization_id, own)).toMatchObject([{ event_type: "gateway.main.lead_message.sent", board_id }]);
  });

  test("a worker that already has the lead's name causes a conflict that names the reason", async () => {
    const board_id = await addEmptyBoard();
    await world.call("POST", "/api/v1/agents", { token: home.owner.token, body: { name: "lead agent", board_id } });
    const detail = "An agent with this name already exists on this board.";
    expect(statusAndBody(await sendToLead(undefined, board_id))).toEqual([409, { detail }]);
  });

  test("a board without a lead gets exactly one, even when several messages arrive at once", async () => {
    const board_id = await addEmptyBoard();
    const answers = await Promise.all(["A", "B", "C"].map((content) => sendToLead({ content }, board_id)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(answers.filter(({ body }) => body.lead_created)).toHaveLength(1);
    expect(await world.db.select().from(agents).where(eq(agents.board_id, board_id))).toHaveLength(1);
  });
});

test("a message to a lead needs a text and a known kind", async () => {
  for (const body of [{}, { content: " " }, { content: "Q", kind: "order" }])
    expect((await sendToLead(body)).body.detail).toMatchObject([{ loc: ["body", "kind" in body ? "kind" : "content"] }]);
  expect(host.messages).toEqual([]);
});
