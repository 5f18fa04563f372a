import { agents, approval_task_links, approvals, board_memory } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { addTasks } from "../support/task.ts";
import { addBoard } from "../support/board.ts";
import { actAsMainAgent } from "../support/main-agent.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const home = await world.tenant("home");
const reader = await world.member("reader", home, "member", { read: true });

const snapshot = (board_id = home.board_id, credential: object = { token: home.owner.token }) =>
  world.call("GET", `/api/v1/boards/${board_id}/snapshot`, credential);

test("the snapshot of an empty board has every key and no null array", async () => {
  const { board_id } = await addBoard(world, home, "Bare");
  await world.db.delete(agents).where(eq(agents.board_id, board_id));
  const board = (await world.call("GET", `/api/v1/boards/${board_id}`, home.owner)).body;
  expect((await snapshot(board_id)).body).toEqual({
    board,
    tasks: [],
    agents: [],
    approvals: [],
    chat_messages: [],
    pending_approvals_count: 0,
  });
});

test("everyone who may read the board can read its snapshot, agents included", async () => {
  const main = await actAsMainAgent(world, home.gateway_id);
  for (const credential of [
    { token: reader.token },
    { agent: home.worker.token },
    { agent: home.lead.token },
    { agent: main.token },
  ])
    expect((await snapshot(home.board_id, credential)).status).toBe(200);
});

test("a snapshot approval has its reason, confidence and ordered tasks, and no null title", async () => {
  const { board_id, agent } = await addBoard(world, home, "Approvals");
  const [first, second] = await addTasks(world, board_id, [{ title: "First" }, { title: "Second" }]);
  const user_id = (await world.call("GET", "/api/v1/users/me", home.owner)).body.id;
  const resolved_at = new Date("2026-01-01T00:00:00Z");
  const [full] = await world.db
    .insert(approvals)
    .values({
      board_id,
      agent_id: agent.id,
      action_type: "Deploy",
      payload: { reason: "It is ready", n: 1 },
      confidence: 87.5,
      rubric_scores: { risk: 3 },
      status: "approved",
      task_id: second!.id,
      resolved_at,
      resolved_by_user_id: user_id,
      created_at: new Date(2000),
    })
    .returning();
  await world.db.insert(approval_task_links).values([
    { approval_id: full!.id, task_id: first!.id, position: 1, pending: false },
    { approval_id: full!.id, task_id: second!.id, position: 0, pending: false },
  ]);
  await world.db.insert(approvals).values({ board_id, action_type: "Bare", payload: { reason: 5 }, created_at: new Date(1000) });
  const [shown, bare] = (await snapshot(board_id)).body.approvals;
  expect(shown).toEqual({
    id: full!.id,
    board_id,
    agent_id: agent.id,
    action_type: "Deploy",
    description: "It is ready",
    payload: { reason: "It is ready", n: 1, title: "Second" },
    confidence: 87.5,
    rubric_scores: { risk: 3 },
    status: "approved",
    task_id: second!.id,
    task_ids: [second!.id, first!.id],
    task_titles: ["Second", "First"],
    created_at: new Date(2000).toISOString(),
    updated_at: full!.updated_at.toISOString(),
    resolved_at: resolved_at.toISOString(),
    resolved_by_user_id: user_id,
  });
  expect(bare).toMatchObject({
    description: null,
    confidence: 0,
    rubric_scores: null,
    task_id: null,
    task_ids: [],
    task_titles: [],
  });
});

test("a snapshot has the same agents as the agent list, newest first", async () => {
  const listed = (await world.call("GET", `/api/v1/agents?board_id=${home.board_id}`, home.owner)).body.items;
  expect((await snapshot()).body.agents).toEqual(listed);
});

test("a snapshot has the latest 200 chat messages, oldest first, without blank messages and notes", async () => {
  const { board_id } = await addBoard(world, home, "Chat");
  const at = (n: number) => new Date(n * 1000);
  const chatMessages = Array.from({ length: 205 }, (_, n) => ({
    board_id,
    content: `message ${n}`,
    is_chat: true,
    tags: ["chat"],
    created_at: at(n),
  }));
  const blank = { board_id, content: " \n\t", is_chat: true, created_at: at(1000) };
  await world.db.insert(board_memory).values([...chatMessages, blank, { ...blank, content: "A note", is_chat: false }]);
  const { chat_messages } = (await snapshot(board_id)).body;
  expect(chat_messages.map(({ content }: { content: string }) => content)).toEqual(
    Array.from({ length: 200 }, (_, n) => `message ${n + 5}`),
  );
  expect(chat_messages[0]).toEqual({
    id: expect.any(String),
    board_id,
    key: null,
    value: null,
    content: "message 5",
    tags: ["chat"],
    source: null,
    is_chat: true,
    created_at: at(5).toISOString(),
  });
});

test("a snapshot has the newest 5,000 tasks and 200 approvals, and counts all pending approvals", async () => {
  const { board_id } = await addBoard(world, home, "Full");
  for (let start = 0; start < 5_010; start += 1_670)
    await addTasks(
      world,
      board_id,
      Array.from({ length: 1_670 }, (_, n) => ({ title: `${start + n}`, created_at: new Date((start + n) * 1000) })),
    );
  const requested = Array.from({ length: 210 }, (_, n) => ({ board_id, action_type: `${n}`, created_at: new Date(n * 1000) }));
  await world.db.insert(approvals).values(requested);
  const { tasks: shown, approvals: listed, pending_approvals_count } = (await snapshot(board_id)).body;
  expect([shown.length, shown[0].title, shown.at(-1).title]).toEqual([5_000, "5009", "10"]);
  expect([listed.length, listed[0].action_type, listed.at(-1).action_type, pending_approvals_count]).toEqual([
    200,
    "209",
    "10",
    210,
  ]);
});

test("a snapshot takes at most seven statements for any number of tasks", async () => {
  const cost = (board_id: string) => world.countStatements(() => snapshot(board_id, { agent: home.lead.token }));
  const empty = await cost(home.board_id);
  await addTasks(
    world,
    home.board_id,
    Array.from({ length: 50 }, () => ({ assigned_agent_id: home.worker.id })),
  );
  expect(await cost(home.board_id)).toBe(empty);
  expect(empty).toBeLessThanOrEqual(7);
});
