import { agents, boards, gateways, jobs } from "@board/core/schema/all-tables";
import { eq, inArray, sql } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import { listEvents } from "../support/activity.ts";
import { startFakeGateway } from "../support/fake-gateway/server.ts";
import { statusAndBody } from "../support/http.ts";
import { actAsMainAgent } from "../support/main-agent.ts";
import { setupHostedTenants } from "../support/gateway-fixture.ts";

let main: { id: string; token: string };
/** Further boards of the tenant's gateway, oldest first, each with a lead. */
let further_boards: { board_id: string; lead: { id: string; openclaw_session_id: string } }[];

const { world, host, home } = await setupHostedTenants();
beforeEach(async () => {
  main = await actAsMainAgent(world, home.gateway_id);
  further_boards = [await addBoardWithLead("One"), await addBoardWithLead("Two")];
});

const create = async (path: string, body: object) => (await world.call("POST", path, { token: home.owner.token, body })).body;
const addBoard = async (name: string, gateway_id = home.gateway_id): Promise<string> =>
  (await create("/api/v1/boards", { name, description: "B", gateway_id })).id;
const addBoardWithLead = async (name: string) => {
  const board_id = await addBoard(name);
  const lead = await create("/api/v1/agents", { name: `Lead ${name}`, board_id, is_board_lead: true });
  return { board_id, lead };
};
const broadcast = (body: object = {}, agent = main.token) =>
  world.call("POST", "/api/v1/agent/gateway/leads/broadcast", { agent, body: { content: "Status?", ...body } });
const events = async () =>
  listEvents(world, { organization_id: home.organization_id, event_type: "gateway.main.lead_broadcast.sent" });
const sent = (board_id: string, id: string, name: string) => ({
  board_id,
  lead_agent_id: id,
  lead_agent_name: name,
  ok: true,
  error: null,
});
const unknown = (board_id: string) => ({
  board_id,
  lead_agent_id: null,
  lead_agent_name: null,
  ok: false,
  error: "Board not found.",
});

test("a broadcast reaches every board of the gateway, newest first, each lead in its own session", async () => {
  const [one, two] = further_boards as [(typeof further_boards)[number], (typeof further_boards)[number]];
  const answer = await broadcast({ kind: "handoff" });
  expect(statusAndBody(answer)).toEqual([
    200,
    {
      ok: true,
      sent: 3,
      failed: 0,
      results: [
        sent(two.board_id, two.lead.id, "Lead Two"),
        sent(one.board_id, one.lead.id, "Lead One"),
        sent(home.board_id, home.lead.id, "Lead"),
      ],
    },
  ]);
  const texts = Object.fromEntries(host.messages.map((message) => [message.session_key, message]));
  expect(Object.keys(texts).toSorted()).toEqual(
    [home.lead.session_key, one.lead.openclaw_session_id, two.lead.openclaw_session_id].toSorted(),
  );
  expect(texts[one.lead.openclaw_session_id]).toMatchObject({
    deliver: false,
    message: expect.stringMatching(new RegExp(`^GATEWAY MAIN HANDOFF\nBoard: One\nBoard ID: ${one.board_id}\n[^]*\nStatus\\?\n`)),
  });
  expect(await events()).toMatchObject([
    { board_id: null, agent_id: main.id, message: expect.stringContaining("3 sent, 0 failed") },
  ]);
});

test("a broadcast to named boards reaches them in the given order, each once", async () => {
  const [one] = further_boards as [(typeof further_boards)[number]];
  const answer = await broadcast({ board_ids: [home.board_id, one.board_id.toUpperCase(), home.board_id] });
  expect(answer.body).toEqual({
    ok: true,
    sent: 2,
    failed: 0,
    results: [sent(home.board_id, home.lead.id, "Lead"), sent(one.board_id, one.lead.id, "Lead One")],
  });
  expect(host.messages).toHaveLength(2);
});

test("a broadcast to an empty list of boards reaches none and reports no failure", async () => {
  expect((await broadcast({ board_ids: [] })).body).toEqual({ ok: true, sent: 0, failed: 0, results: [] });
  expect([host.calls, await events()]).toMatchObject([[], [{ message: expect.stringContaining("0 sent, 0 failed") }]]);
});

test("a broadcast reports each board of another gateway as failed, in any organization, and reaches the other boards", async () => {
  const abroad = await world.tenant(`abroad of ${home.owner.subject}`, host.url);
  const gateway = await create("/api/v1/gateways", {
    name: "Other",
    url: host.url,
    workspace_root: "/srv",
    token: "test-token-123",
  });
  const foreign = [abroad.board_id, crypto.randomUUID(), await addBoard("Elsewhere", gateway.id)];
  host.messages.length = 0;
  const answer = await broadcast({ board_ids: [foreign[0], home.board_id, foreign[1], foreign[2]] });
  expect(answer.body).toEqual({
    ok: true,
    sent: 1,
    failed: 3,
    results: [unknown(foreign[0]!), sent(home.board_id, home.lead.id, "Lead"), unknown(foreign[1]!), unknown(foreign[2]!)],
  });
  expect((await broadcast({ board_ids: foreign })).body).toMatchObject({ ok: false, sent: 0, failed: 3 });
  expect(host.messages).toHaveLength(1);
});

test("in a broadcast, a board without a lead gets one, which finds the message after its provisioning", async () => {
  const board_id = await addBoard("Empty");
  const taken = await addBoard("Taken");
  await create("/api/v1/agents", { name: "Lead Agent", board_id: taken });
  const answer = await broadcast({ board_ids: [board_id, taken] });
  const [lead] = await world.db.select().from(agents).where(eq(agents.board_id, board_id));
  expect(answer.body).toMatchObject({
    sent: 1,
    failed: 1,
    results: [
      sent(board_id, lead!.id, "Lead Agent"),
      { ...unknown(taken), error: "An agent with this name already exists on this board." },
    ],
  });
  const made = await world.db
    .select()
    .from(jobs)
    .where(eq(jobs.lane, `${home.gateway_id}/lead-${board_id}`))
    .orderBy(jobs.seq);
  expect(made.map(({ kind }) => kind)).toEqual(["agent.provision", "notice"]);
  expect(host.messages).toEqual([]);
});

test("a broadcast to many boards without a lead occupies no more than five connections to the database", async () => {
  const names = Array.from({ length: 12 }, (_, number) => `Board ${number}`);
  const board_ids = await Promise.all(names.map((name) => addBoard(name)));
  const isBlocked = sql`pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  const countBlocked = () => world.db.$count(isBlocked);
  const { answer, blocked } = await world.db.transaction(async (other) => {
    await other.select({ id: boards.id }).from(boards).where(inArray(boards.id, board_ids)).for("update");
    const answer = broadcast({ board_ids });
    await expect.poll(countBlocked, { interval: 50, timeout: 30_000 }).toBeGreaterThanOrEqual(5);
    return { answer, blocked: await countBlocked() };
  });
  expect([blocked, (await answer).body.sent]).toEqual([5, 12]);
});

test("in a broadcast, a failure on one board does not affect the others", async () => {
  await world.db.update(agents).set({ openclaw_session_id: null }).where(eq(agents.id, further_boards[0]!.lead.id));
  host.failNext("chat.send", { message: "session locked" });
  const { body } = await broadcast();
  expect(body).toMatchObject({ ok: true, sent: 1, failed: 2 });
  const errors = body.results.map(({ error }: { error: string | null }) => error).toSorted();
  const texts = ["Gateway lead broadcast dispatch failed: session locked", "Target agent has no session", null];
  expect(new Set(errors)).toEqual(new Set(texts));
  expect(body.results.find(({ error }: { error: string | null }) => error === texts[1])).toMatchObject({
    board_id: further_boards[0]!.board_id,
    lead_agent_id: further_boards[0]!.lead.id,
  });
  expect(host.messages).toHaveLength(1);
  const [gateway] = await world.db.select().from(gateways).where(eq(gateways.id, home.gateway_id));
  expect(gateway).toMatchObject({ connected: true });
});

test("a broadcast in which every board fails has failed, and the gateway shows that it is unreachable", async () => {
  const other = await startFakeGateway({ token: "another-token" });
  await world.db.update(gateways).set({ url: other.url }).where(eq(gateways.id, home.gateway_id));
  const { status, body } = await broadcast();
  await other.close();
  expect([status, body]).toMatchObject([200, { ok: false, sent: 0, failed: 3 }]);
  for (const { error } of body.results) expect(error).toMatch(/^Gateway lead broadcast dispatch failed: Gateway authentication/);
  const [gateway] = await world.db.select().from(gateways).where(eq(gateways.id, home.gateway_id));
  expect(gateway).toMatchObject({ connected: false });
  expect(await events()).toMatchObject([{ message: expect.stringContaining("0 sent, 3 failed") }]);
});

test("a host that is down for a moment gets every text of a broadcast once", async () => {
  host.failNext("chat.send", { code: "UNAVAILABLE", message: "starting" }, 2);
  expect((await broadcast()).body).toMatchObject({ sent: 3, failed: 0 });
  expect(host.messages).toHaveLength(3);
  const keys = host.calls
    .filter(({ method }) => method === "chat.send")
    .map(({ params }) => (params as { idempotencyKey: string }).idempotencyKey);
  expect([keys.length, new Set(keys).size]).toEqual([5, 3]);
});

test("only main agents may broadcast, and only with a text", async () => {
  const message = "Only the gateway main agent can perform this action";
  for (const { token } of [home.lead, home.worker])
    expect((await broadcast({}, token)).body.detail).toEqual({ code: "forbidden", message });
  const tooMany = Array.from({ length: 201 }, () => crypto.randomUUID());
  for (const [field, value] of Object.entries({ content: " ", kind: "order", board_ids: ["x"] })) {
    const answer = await broadcast({ [field]: value });
    expect([answer.status, answer.body.detail[0].loc.slice(0, 2)]).toEqual([422, ["body", field]]);
  }
  expect((await broadcast({ board_ids: tooMany })).status).toBe(422);
  await world.db.update(gateways).set({ url: "\t" }).where(eq(gateways.id, home.gateway_id));
  expect(statusAndBody(await broadcast())).toEqual([422, { detail: "Gateway url is required" }]);
  expect(host.messages).toEqual([]);
});
