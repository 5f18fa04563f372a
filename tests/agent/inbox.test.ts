import { setTimeout as pause } from "node:timers/promises";
import { tasks } from "@board/core/schema/all-tables";
import { closeFence, fence } from "@board/core/values/text";
import { pollWaits } from "@board/core/inbox/wait";
import { eq, sql } from "drizzle-orm";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { waitForBlockedStatement } from "../support/blocked-statement.ts";
import { splitFences } from "../support/fences.ts";
import { openPullBoard, type PullBoard } from "../support/pull-board.ts";
import { setupWorld } from "../support/fixtures.ts";

let count = 0;
const openBoard = (board: object = {}): Promise<PullBoard> => openPullBoard(world, `person ${++count}`, board);

const world = await setupWorld();

const IDLE = {
  has_work: false,
  board: { status: "active" },
  messages: [],
  tasks: [],
  counts: { messages: 0, mine: 0, free: 0, review: 0, approvals_decided: 0 },
  next_check_seconds: 600,
};

describe("an idle inbox", () => {
  test("an idle inbox has at most 400 bytes, whatever the name of the agent", async () => {
    const { inbox, worker, lead, addAgent } = await openBoard();
    const first = await inbox(worker);
    expect(first.status).toBe(200);
    expect(first.body).toMatchObject({ ...IDLE, agent: { id: worker.id, name: "Worker", status: "online" } });
    for (const name of ["n".repeat(200), "🦊".repeat(100), '"\\'.repeat(100), "\u0001é".repeat(60)]) {
      const { text } = await inbox(await addAgent(name));
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(400);
    }
    expect(Buffer.byteLength((await inbox(lead)).text)).toBeLessThanOrEqual(400);
  });

  test("an idle inbox takes two statements, including authentication", async () => {
    const { inbox, worker, lead, addTask, call, owner, board_id } = await openBoard();
    for (const agent of [worker, lead]) await inbox(agent);
    const chat = { content: "/pause", tags: ["chat"] };
    for (let index = 0; index < 30; index++) await addTask();
    await call("POST", `/api/v1/boards/${board_id}/memory`, owner.token, chat);
    for (const agent of [worker, lead]) expect(await world.countStatements(() => inbox(agent))).toBe(2);
  });

  test("an idle inbox is answered with 304 and no body when the tag matches, and still counts as a heartbeat", async () => {
    const { inbox, worker, owner, call } = await openBoard();
    const tag = (await inbox(worker)).headers.get("etag")!;
    expect(tag).toMatch(/^"[\w-]{43}"$/);
    world.elapse(3_600_000);
    const encoded = tag.replace(/"$/, '-br"');
    for (const [value, answered] of [
      [tag, tag],
      [`W/${tag}`, `W/${tag}`],
      [`"other", ${encoded}`, encoded],
    ] as const) {
      const unchanged = await inbox(worker, "", { headers: { "If-None-Match": value } });
      expect([unchanged.status, unchanged.text, unchanged.headers.get("etag")]).toEqual([304, "", answered]);
    }
    const shown = (await call("GET", `/api/v1/agents/${worker.id}`, owner.token)).body;
    expect(shown).toMatchObject({ status: "online", last_seen_at: expect.any(String) });
    expect(world.now().getTime() - Date.parse(shown.last_seen_at)).toBeLessThan(60_000);
    const events = (await call("GET", "/api/v1/activity?limit=200", owner.token)).body.items as {
      event_type: string;
      agent_id: string;
    }[];
    expect(events.filter((event) => event.event_type === "agent.heartbeat" && event.agent_id === worker.id)).toHaveLength(2);
  });

  test("an idle inbox asks to be checked again after the heartbeat interval of the agent", async () => {
    const { inbox, addAgent } = await openBoard();
    for (const [every, seconds] of [
      ["30m", 1_800],
      ["1s", 30],
      ["99999d", 86_400],
      ["soon", 600],
    ] as const) {
      const agent = await addAgent(`Agent ${every}`, { heartbeat_config: { every } });
      expect((await inbox(agent)).body.next_check_seconds).toBe(seconds);
    }
  });
});

describe("work in an inbox", () => {
  test("a worker's inbox has work if there is a message, an assigned task that can continue, or a free task without open dependencies", async () => {
    const { inbox, worker, addTask, call, owner, board_id } = await openBoard();
    const free = await addTask({ title: "Free" });
    expect((await inbox(worker)).body).toMatchObject({ has_work: true, tasks: [], counts: { free: 1, mine: 0, messages: 0 } });
    await addTask({ title: "Waits", depends_on_task_ids: [free] });
    expect((await inbox(worker)).body.counts.free).toBe(1);
    const due_at = "2026-12-01T10:00:00.000Z";
    const own = await addTask({ title: "Low", priority: "low", assigned_agent_id: worker.id });
    const urgent = await addTask({ title: "High", priority: "high", due_at, assigned_agent_id: worker.id });
    const { body } = await inbox(worker);
    expect(body).toMatchObject({
      has_work: true,
      counts: { messages: 2, mine: 2, free: 1, review: 0 },
      messages: [
        { kind: "task.assigned", task_id: own, text: expect.stringMatching(/^TASK ASSIGNED\n[^]*Low/) },
        { kind: "task.assigned", task_id: urgent },
      ],
    });
    expect(body.tasks).toEqual([
      { id: urgent, board_id, title: "High", status: "inbox", priority: "high", due_at, is_blocked: false, lease: null },
      { id: own, board_id, title: "Low", status: "inbox", priority: "low", due_at: null, is_blocked: false, lease: null },
    ]);
    await call("PATCH", `/api/v1/boards/${board_id}/tasks/${own}`, owner.token, { status: "in_progress" });
    expect((await inbox(worker)).body.tasks.map(({ id }: { id: string }) => id)).toEqual([own, urgent]);
  });

  test("a free task counts as work of the lead, and not of a worker, when only the lead moves tasks", async () => {
    const { inbox, worker, lead, addTask } = await openBoard({ only_lead_can_change_status: true });
    await addTask();
    expect((await inbox(worker)).body).toMatchObject({ has_work: false, counts: { free: 0 } });
    expect((await inbox(lead)).body).toMatchObject({ has_work: true, tasks: [], counts: { free: 1 } });
  });

  test("a task whose holder's lease has expired counts as work of a worker, even before the schedule has ended the lease", async () => {
    const { inbox, worker, addAgent, addTask } = await openBoard();
    const dead = await addAgent("Dead");
    const id = await addTask({ title: "Left behind" });
    const take = (agent: string) => world.call("POST", "/api/v1/agent/tasks/next", { agent, body: { lease_seconds: 60 } });
    expect((await take(dead.token)).body.task.id).toBe(id);
    expect((await inbox(worker)).body).toMatchObject({ has_work: false, counts: { free: 0 } });
    world.elapse(61_000);
    expect((await inbox(worker)).body).toMatchObject({ has_work: true, counts: { free: 1 } });
    expect((await take(worker.token)).body.task.id).toBe(id);
  });

  test("while a task is in review, it names the agent that submitted it, even on a board without a lead", async () => {
    const { worker, lead, call, owner, board_id, addTask } = await openBoard();
    await call("DELETE", `/api/v1/agents/${lead.id}`, owner.token);
    const id = await addTask({ assigned_agent_id: worker.id });
    const path = `/api/v1/agent/boards/${board_id}/tasks/${id}`;
    for (const status of ["in_progress", "review"])
      await world.call("PATCH", path, { agent: worker.token, body: { status, comment: "Done" } });
    const read = async () => (await call("GET", `/api/v1/boards/${board_id}/tasks/${id}`, owner.token)).body;
    expect(await read()).toMatchObject({ status: "review", assigned_agent_id: null, submitted_by_agent_id: worker.id });
    await call("PATCH", `/api/v1/boards/${board_id}/tasks/${id}`, owner.token, { status: "blocked" });
    expect(await read()).toMatchObject({ status: "blocked", submitted_by_agent_id: null });
  });

  test("new work is announced in the inbox, and the task's history names the inbox instead of a failed wake-up", async () => {
    const { inbox, worker, addTask, call, owner, board_id } = await openBoard();
    const id = await addTask({ title: "Sweep" });
    const change = (body: object) => call("PATCH", `/api/v1/boards/${board_id}/tasks/${id}`, owner.token, body);
    await change({ assigned_agent_id: worker.id });
    await change({ status: "in_progress" });
    const { body } = await inbox(worker);
    expect(body).toMatchObject({ has_work: true, counts: { mine: 1 }, tasks: [{ id, status: "in_progress" }] });
    expect(body.messages).toMatchObject([
      { kind: "task.assigned", task_id: id, text: expect.stringMatching(/^TASK ASSIGNED\n[^]*Sweep/) },
    ]);
    const { items } = (await call("GET", "/api/v1/activity", owner.token)).body;
    const history = items.filter(({ event_type }: { event_type: string }) => /_wake|_woken/.test(event_type));
    expect(history.map(({ message }: { message: string }) => message).toSorted()).toEqual([
      "Assignee told in its inbox (assignment): Worker.",
      "Assignee told in its inbox (status_in_progress): Worker.",
    ]);
  });

  test("a task in review counts as work of the lead, and so does a decided approval until the lead acknowledges it", async () => {
    const { inbox, worker, lead, addTask, call, owner, board_id } = await openBoard();
    const task = await addTask({ title: "Reviewed", assigned_agent_id: worker.id, status: "review" });
    const shown = (await inbox(lead)).body;
    expect(shown).toMatchObject({ has_work: true, counts: { review: 1 }, tasks: [{ id: task, status: "review" }] });
    expect((await inbox(worker)).body).toMatchObject({ counts: { review: 0, mine: 0 }, tasks: [] });
    await call("PATCH", `/api/v1/boards/${board_id}/tasks/${task}`, owner.token, { status: "blocked" });
    const approval = await world.call("POST", `/api/v1/agent/boards/${board_id}/approvals`, {
      agent: lead.token,
      body: { action_type: "deploy", description: "Deploy it", confidence: 80, lead_reasoning: "It is ready" },
    });
    expect(approval.status).toBe(200);
    await call("PATCH", `/api/v1/boards/${board_id}/approvals/${approval.body.id}`, owner.token, { status: "approved" });
    const decided = (await inbox(lead)).body;
    expect(decided).toMatchObject({ has_work: true, counts: { approvals_decided: 1, review: 0 } });
    expect(decided.messages.at(-1)).toMatchObject({
      kind: "approval.resolved",
      text: expect.stringMatching(/^APPROVAL RESOLVED/),
    });
    await acknowledge(lead, { through: decided.messages.at(-1).id });
    expect((await inbox(lead)).body).toMatchObject({ has_work: false, counts: { messages: 0, approvals_decided: 0 } });
  });

  test("work is hidden while the board is paused, and shown again when the board resumes", async () => {
    const { inbox, worker, addTask, call, owner, board_id } = await openBoard();
    await addTask({ assigned_agent_id: worker.id });
    const say = (content: string) => call("POST", `/api/v1/boards/${board_id}/memory`, owner.token, { content, tags: ["chat"] });
    await say("/pause");
    const paused = await inbox(worker);
    expect(paused.body).toMatchObject({ has_work: false, board: { status: "paused" }, messages: [], tasks: [] });
    expect(Buffer.byteLength(paused.text)).toBeLessThanOrEqual(400);
    await say("/resume");
    const { body } = await inbox(worker);
    expect(body).toMatchObject({ has_work: true, board: { status: "active" }, counts: { messages: 3, mine: 1 } });
    expect(body.messages.map(({ kind, text }: Record<string, string>) => [kind, text!.split("\n")[0]])).toEqual([
      ["task.assigned", "TASK ASSIGNED"],
      ["board.command", "/pause"],
      ["board.command", "/resume"],
    ]);
  });

  test("reading an inbox with work costs at most three statements, whatever the number of tasks and messages", async () => {
    const { inbox, worker, addTask } = await openBoard();
    await inbox(worker);
    for (let index = 0; index < 15; index++) await addTask({ assigned_agent_id: worker.id });
    await world.db.update(tasks).set({ status: "in_progress" }).where(eq(tasks.assigned_agent_id, worker.id));
    expect(await world.countStatements(() => inbox(worker))).toBeLessThanOrEqual(3);
    const { body } = await inbox(worker, "?limit=3");
    expect([body.tasks.length, body.messages.length, body.counts]).toMatchObject([10, 3, { mine: 15, messages: 15 }]);
  });
});

test("reading the inbox renews the leases of the agent without changing the tag of the inbox", async () => {
  const { inbox, worker, addTask } = await openBoard();
  const task = await addTask();
  const taken = await world.call("POST", "/api/v1/agent/tasks/next", { agent: worker.token, body: { lease_seconds: 60 } });
  expect(taken.body.task.id).toBe(task);
  world.elapse(50_000);
  const first = await inbox(worker);
  world.elapse(50_000);
  const second = await inbox(worker);
  expect(second.body.tasks).toMatchObject([{ id: task, status: "in_progress", lease: { fence: taken.body.lease.fence } }]);
  const ends = [taken.body.lease, first.body.tasks[0].lease, second.body.tasks[0].lease].map((lease) =>
    Date.parse(lease.expires_at),
  );
  expect(ends[2]! - ends[0]!).toBeGreaterThanOrEqual(50_000);
  expect(second.headers.get("etag")).toBe(first.headers.get("etag"));
  expect(await world.countStatements(() => inbox(worker))).toBe(3);
});

const acknowledge = (agent: { token: string }, body: object) =>
  world.call("POST", "/api/v1/agent/inbox/ack", { agent: agent.token, body });

describe("messages in an inbox", () => {
  test("messages are shown with every read until they are acknowledged, and each can be acknowledged alone", async () => {
    const { inbox, worker, lead, board_id } = await openBoard();
    const nudge = (message: string) =>
      world.call("POST", `/api/v1/agent/boards/${board_id}/agents/${worker.id}/nudge`, { agent: lead.token, body: { message } });
    for (const text of ["One", "Two", "Three", "Four"]) expect((await nudge(text)).status).toBe(200);
    const read = async () => (await inbox(worker)).body.messages as { id: string; kind: string; text: string }[];
    const all = await read();
    expect(all.map(({ kind, text }) => [kind, text])).toEqual([
      ["agent.nudge", "One"],
      ["agent.nudge", "Two"],
      ["agent.nudge", "Three"],
      ["agent.nudge", "Four"],
    ]);
    expect(await read()).toEqual(all);
    expect((await acknowledge(worker, { through: all[1]!.id })).body).toEqual({ ok: true, acknowledged: 2 });
    expect((await acknowledge(worker, { through: all[1]!.id })).body).toEqual({ ok: true, acknowledged: 0 });
    expect((await read()).map(({ text }) => text)).toEqual(["Three", "Four"]);
    expect((await acknowledge(worker, { ids: [all[3]!.id, crypto.randomUUID()] })).body.acknowledged).toBe(1);
    expect((await read()).map(({ text }) => text)).toEqual(["Three"]);
    expect((await acknowledge(worker, { ids: [] })).body).toEqual({ ok: true, acknowledged: 0 });
    expect((await acknowledge(worker, {})).status).toBe(422);
  });

  test("messages of another agent are neither shown nor acknowledged", async () => {
    const { inbox, worker, addAgent, addTask } = await openBoard();
    const other = await addAgent("Other");
    await addTask({ assigned_agent_id: worker.id });
    const [message] = (await inbox(worker)).body.messages;
    expect((await inbox(other)).body.messages).toEqual([]);
    for (const body of [{ through: message.id }, { ids: [message.id] }])
      expect((await acknowledge(other, body)).body).toEqual({ ok: true, acknowledged: 0 });
    expect((await inbox(worker)).body.messages).toHaveLength(1);
  });

  test("messages are removed after 30 days by the retention", async () => {
    const { inbox, worker, addTask, call, owner, board_id } = await openBoard();
    const task = await addTask({ assigned_agent_id: worker.id });
    await call("PATCH", `/api/v1/boards/${board_id}/tasks/${task}`, owner.token, { status: "done" });
    const { runScheduled } = await import("@board/api/work/schedules");
    await runScheduled(world.context(), "retention");
    expect((await inbox(worker)).body.counts.messages).toBe(1);
    world.elapse(31 * 86_400_000);
    await runScheduled(world.context(), "retention");
    expect((await inbox(worker)).body.counts.messages).toBe(0);
  });
});

describe("waiting for work", () => {
  test("a wait for work ends as soon as there is work", async () => {
    const { inbox, worker, addTask } = await openBoard();
    const waiting = inbox(worker, "?wait=20");
    let ended = false;
    void waiting.then(() => (ended = true));
    await pause(200);
    expect(ended).toBe(false);
    const task = await addTask({ assigned_agent_id: worker.id });
    const { status, body } = await waiting;
    expect([status, body]).toMatchObject([200, { has_work: true, tasks: [{ id: task }], messages: [{ task_id: task }] }]);
  });

  test("a wait ends as soon as there is work, even if the change is reported while the inboxes of others are being read", async () => {
    // Without the timer, only reports of changes make the service read the inboxes of waiting agents.
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const [busy, changed] = [await openBoard(), await openBoard()];
    const report = (board: PullBoard) => pollWaits(world.context(), new Set([board.organization_id]));
    const startWait = async (board: PullBoard) => {
      world.statements.length = 0;
      const answer = board.inbox(board.worker, "?wait=20");
      const countReads = () => world.statements.filter((text) => text.includes("inbox_messages")).length;
      // The second read is that of a poll, so the request is waiting by then.
      await vi.waitUntil(() => (report(board), countReads() > 1), { timeout: 20_000 });
      return { answer };
    };
    const waits = [await startWait(busy), await startWait(changed)];
    await changed.addTask();
    await world.db.transaction(async (blocking) => {
      await blocking.execute(sql`lock table inbox_messages in access exclusive mode`);
      report(busy);
      await waitForBlockedStatement(world.db);
      report(changed);
    });
    expect((await waits[1]!.answer).body.has_work).toBe(true);
    await busy.addTask();
    report(busy);
    expect((await waits[0]!.answer).body.has_work).toBe(true);
  });

  test("a wait for work ends without work when its time is over, and a matching tag then gives 304", async () => {
    const { inbox, worker } = await openBoard();
    const tag = (await inbox(worker)).headers.get("etag")!;
    const { status, text } = await inbox(worker, "?wait=1", { headers: { "If-None-Match": tag } });
    expect([status, text]).toEqual([304, ""]);
  });

  test("a wait does not delay the answer when there is work already", async () => {
    const { inbox, worker, addTask } = await openBoard();
    await addTask();
    expect((await inbox(worker, "?wait=20")).body.has_work).toBe(true);
  });

  test("a wait for work ends with 401 when the agent is removed", async () => {
    const { inbox, worker, call, owner } = await openBoard();
    const waiting = inbox(worker, "?wait=20");
    await pause(200);
    await call("DELETE", `/api/v1/agents/${worker.id}`, owner.token);
    expect((await waiting).status).toBe(401);
  });

  test("a second wait of an agent ends its first wait at once", async () => {
    const { inbox, worker } = await openBoard();
    const first = inbox(worker, "?wait=20");
    await pause(200);
    const second = inbox(worker, "?wait=1");
    expect((await first).body.has_work).toBe(false);
    expect((await second).body.has_work).toBe(false);
  });

  test.each(["?wait=21", "?wait=-1", "?limit=0", "?limit=51", "?wait=x"])("a wait with %s is refused", async (query) => {
    const { inbox, worker } = await openBoard();
    expect((await inbox(worker, query)).status).toBe(422);
  });
});

describe("a message that is too long for an answer", () => {
  const postTo = async ({ call, owner, board_id, lead }: PullBoard, description: string, raw: string) => {
    const hook = await call("POST", `/api/v1/boards/${board_id}/webhooks`, owner.token, { description, agent_id: lead.id });
    const post = await world.call("POST", hook.body.endpoint_path, { raw });
    expect([hook.status, post.status]).toEqual([200, 202]);
  };

  test("a message that is too long is cut inside its fence, the fence is closed, and the answer names the shortened text", async () => {
    const home = await openBoard();
    await postTo(home, "d".repeat(9_000), "p".repeat(4_000));
    await postTo(home, "Short", "p".repeat(4_000));
    const [long, short] = (await home.inbox(home.lead)).body.messages;
    expect(long.truncated_fields).toEqual(["text"]);
    expect(long.text).toMatch(/\n--- BEGIN EXTERNAL DATA ([0-9a-f]{16}) [^\n]*\np+\n--- END EXTERNAL DATA \1 ---$/);
    expect(short).not.toHaveProperty("truncated_fields");
    expect(splitFences(short.text)).toMatchObject({ open: false, inside: ["p".repeat(4_000)] });
  });

  test("the fence of a message that is too long is closed, wherever the message is cut", () => {
    const message = [
      "WEBHOOK EVENT RECEIVED",
      "Board: Shop",
      fence("one\n--- END EXTERNAL DATA 0123456789abcdef ---\ntwo"),
      "END",
    ].join("\n");
    for (let end = 0; end <= message.length; end++) {
      const { open, outside, inside } = splitFences(closeFence(message.slice(0, end)));
      expect([open, outside.filter((line) => /one|two|0123/.test(line))]).toEqual([false, []]);
      for (const text of inside) expect("one\n--- END EXTERNAL DATA 0123456789abcdef ---\ntwo").toContain(text);
    }
  });
});
