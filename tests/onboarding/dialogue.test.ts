import { boards, gateways } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import { actAsMainAgent } from "../support/main-agent.ts";
import { openGatewayFixture } from "../support/gateway-fixture.ts";
import { COMPLETION, GOAL, createOnboarding, QUESTION } from "../support/onboarding.ts";
import { skipProvisioning } from "../support/skip-provisioning.ts";
import { renew, setup } from "../support/fixtures.ts";

const { world, host } = await setup(openGatewayFixture());
const home = await world.tenant("home", host.url);

const board = renew(() => createOnboarding(world, home));
beforeEach(async () => {
  await world.drain();
  host.messages.length = 0;
  host.calls.length = 0;
});

const mainSession = (gateway_id = home.gateway_id) => `agent:mc-gateway-${gateway_id}:main`;
/** Returns the texts that the main agent has received since the last call. */
async function received(): Promise<string[]> {
  await world.drain();
  return host.messages.splice(0).map(({ message }) => message);
}

test("an onboarding starts with a session whose first message is the request to the main agent, who receives it", async () => {
  const { body } = await board.start();
  expect(body).toEqual({
    id: expect.any(String),
    board_id: board.board_id,
    session_key: mainSession(),
    status: "active",
    messages: [{ role: "user", content: expect.stringMatching(/^BOARD ONBOARDING REQUEST\n/), timestamp: expect.any(String) }],
    draft_goal: null,
    created_at: expect.any(String),
    updated_at: expect.any(String),
  });
  expect((await board.read()).body).toEqual(body);
  await world.drain();
  expect(host.messages).toMatchObject([{ session_key: mainSession(), message: body.messages[0].content, deliver: false }]);
  expect(host.calls.find(({ method }) => method === "sessions.patch")?.params).toEqual({
    key: mainSession(),
    label: "Gateway Agent",
  });
});

test("without a session, reading, answering, replying and confirming are refused", async () => {
  for (const answer of [
    await board.read(),
    await board.answer({ answer: "Yes" }),
    await board.reply(QUESTION),
    await board.confirm(GOAL),
  ])
    expect([answer.status, answer.body]).toEqual([404, { detail: "Not Found" }]);
});

test("an onboarding on a gateway without a url is refused", async () => {
  const [gateway] = await world.db.select().from(gateways).where(eq(gateways.id, home.gateway_id));
  await world.db.update(gateways).set({ url: "\t" }).where(eq(gateways.id, home.gateway_id));
  const refused = await board.start();
  await world.db.update(gateways).set({ url: gateway!.url }).where(eq(gateways.id, home.gateway_id));
  expect([refused.status, refused.body]).toEqual([422, { detail: "Gateway url is required" }]);
  expect((await board.read()).status).toBe(404);
});

test("starting an onboarding again repeats the unanswered message to the agent, and nothing else", async () => {
  const first = (await board.start()).body;
  expect((await board.start()).body).toEqual(first);
  expect(await received()).toEqual([first.messages[0].content, first.messages[0].content]);
  await board.reply(QUESTION);
  const asked = (await board.start()).body;
  expect([asked.id, asked.messages.length, await received()]).toEqual([first.id, 2, []]);
  await board.answer({ answer: "Customers" });
  await board.start();
  expect(await received()).toEqual(["Customers", "Customers"]);
});

test.each([
  [{ answer: " Customers " }, "Customers"],
  [{ answer: "Other", other_text: " Our own team " }, "Other: Our own team"],
  [{ answer: "Other", other_text: " " }, "Other"],
  [{ answer: "Other", other_text: null }, "Other"],
])("the answer %j reaches the agent as %j", async (body, text) => {
  await board.start();
  await received();
  const { messages } = (await board.answer(body)).body;
  expect(messages.at(-1)).toEqual({ role: "user", content: text, timestamp: expect.any(String) });
  expect(await received()).toEqual([text]);
});

test("answers reach the agent in the order they were given", async () => {
  await board.start();
  const texts = Array.from({ length: 12 }, (_, n) => `answer ${n}`);
  for (const answer of texts) await board.answer({ answer });
  expect((await received()).slice(1)).toEqual(texts);
});

test("a question is stored as JSON text, and the agent's own messages are not sent back to it", async () => {
  await board.start();
  await received();
  const reply = await world.call("POST", `${board.path}/agent`, { agent: board.main.token, body: { ...QUESTION, extra: 1 } });
  expect(reply.body).toMatchObject({ status: "active", draft_goal: null });
  const [, message] = reply.body.messages;
  expect([message.role, JSON.parse(message.content)]).toEqual(["assistant", QUESTION]);
  expect((await board.read()).body).toEqual(reply.body);
  expect(await received()).toEqual([]);
});

test("a completion becomes the draft, a later completion replaces the draft, and further messages keep it", async () => {
  await board.start();
  const first = await board.reply(COMPLETION);
  expect(first.body).toMatchObject({ status: "completed", draft_goal: COMPLETION });
  expect(JSON.parse(first.body.messages.at(-1).content)).toEqual(first.body.draft_goal);
  await board.answer({ answer: "Make it 20" });
  await board.reply(QUESTION);
  const second = await board.reply({ ...COMPLETION, success_metrics: { customers: 20 } });
  expect(second.body).toMatchObject({ status: "completed", draft_goal: { success_metrics: { customers: 20 } } });
  expect(second.body.messages.map(({ role }: { role: string }) => role)).toEqual([
    "user",
    "assistant",
    "user",
    "assistant",
    "assistant",
  ]);
});

test("a completed session is not active, so a start creates another session, which is then the latest", async () => {
  const first = (await board.start()).body;
  await board.reply(COMPLETION);
  const second = (await board.start()).body;
  expect(second).toMatchObject({ status: "active", draft_goal: null });
  expect(second.id).not.toBe(first.id);
  expect((await board.read()).body).toEqual(second);
});

test("a confirmed session accepts no more replies", async () => {
  await board.start();
  await board.confirm(GOAL);
  for (const body of [QUESTION, COMPLETION]) {
    const refused = await board.reply(body);
    expect([refused.status, refused.body]).toEqual([409, { detail: "Onboarding is already confirmed." }]);
  }
  expect((await board.read()).body.messages).toHaveLength(1);
});

test("only the main agent of the board's own gateway may reply, whatever it sends", async () => {
  await board.start();
  const gateway = { name: "Second host", url: host.url, workspace_root: "/srv/agents" };
  const { id } = (await world.call("POST", "/api/v1/gateways", { token: home.owner.token, body: gateway })).body;
  const other = await actAsMainAgent(world, id);
  for (const path of [`${board.path}/agent`, `/api/v1/agent/boards/${board.board_id}/onboarding`])
    for (const body of [QUESTION, {}]) {
      const refused = await world.call("POST", path, { agent: other.token, body });
      expect([refused.status, refused.body]).toEqual([
        403,
        {
          detail: { code: "forbidden", message: "Only the dedicated gateway agent may call this endpoint." },
          code: "forbidden",
          retryable: false,
        },
      ]);
    }
});

test("a board that moves to another gateway keeps its onboarding", async () => {
  await board.start();
  await received();
  const gateway = { name: "New host", url: host.url, workspace_root: "/srv/agents", token: "test-token-123" };
  const { id } = (await world.call("POST", "/api/v1/gateways", { token: home.owner.token, body: gateway })).body;
  await skipProvisioning(world.db);
  await world.db.update(boards).set({ gateway_id: id }).where(eq(boards.id, board.board_id));
  expect((await board.answer({ answer: "Go on" })).body.session_key).toBe(mainSession(id));
  await world.drain();
  expect(host.messages.map(({ session_key }) => session_key)).toEqual([mainSession(id)]);
  expect((await board.reply(QUESTION)).status).toBe(403);
});

test.each<[string, number, () => Promise<unknown>]>([
  ["reading the onboarding", 2, () => board.read()],
  ["starting the onboarding again", 5, () => board.start()],
  ["answering a question", 5, () => board.answer({ answer: "Yes" })],
])("%s takes %i statements", async (_what, statements, act) => {
  await board.start();
  expect(await world.countStatements(() => act())).toBe(statements);
});
