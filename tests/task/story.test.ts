/** One scenario from a webhook post to two done tasks: each test continues where the one before it ended. */
import { activity_events, jobs } from "@board/core/schema/all-tables";
import { type FakeGateway, startFakeGateway } from "../support/fake-gateway/server.ts";
import { asc, eq, inArray } from "drizzle-orm";
import { expect, test } from "vitest";
import type { Answer } from "../support/http.ts";
import { createWebhook, postPayload } from "../support/webhook.ts";
import { setup, setupWorld } from "../support/fixtures.ts";

interface Agent {
  id: string;
  token: string;
  session_key: string;
}

let payload_id: string;
/** The two tasks: a refund, and the letter that informs the customer. */
let refund: string;
let letter: string;
let approval_id: string;

const byOwner = (method: string, path: string, body?: object) => world.call(method, path, { token: home.owner.token, body });
const agentPath = (rest: string) => `/api/v1/agent/boards/${home.board_id}/${rest}`;
const by = ({ token }: Agent, method: string, rest: string, body?: object) =>
  world.call(method, agentPath(rest), { agent: token, body });
const change = (agent: Agent, task_id: string, body: object) => by(agent, "PATCH", `tasks/${task_id}`, body);
const decide = (body: object) => byOwner("PATCH", `/api/v1/boards/${home.board_id}/approvals/${approval_id}`, body);
const refusal = ({ status, body }: Answer) => [status, body.detail];

/** Delivers all jobs and returns the notifications since the last call, as agent and header. */
async function notifiedAgents(): Promise<string[]> {
  await world.drain();
  const names = new Map([
    [lead.session_key, "lead"],
    [worker.session_key, "worker"],
    [other?.session_key, "other"],
  ]);
  const lines = messages().map(({ session_key, message }) => `${names.get(session_key)}: ${message.split("\n")[0]}`);
  return lines.toSorted();
}
/** How many messages `messages` has returned, so that it returns only new ones. */
let seenMessages = 0;
let last: FakeGateway["messages"] = [];

const world = await setupWorld();
const host = await setup(startFakeGateway({ token: "test-token-123" }));
const home = await world.tenant("shop", host.url);
const { lead, worker } = home;
const rules = { comment_required_for_review: true, require_review_before_done: true, require_approval_for_done: true };
await byOwner("PATCH", `/api/v1/boards/${home.board_id}`, rules);
const created = (await byOwner("POST", "/api/v1/agents", { name: "Other", board_id: home.board_id })).body;
const other: Agent = { id: created.id, token: created.auth_token, session_key: created.openclaw_session_id };
const tag_ids: string[] = [];
for (const name of ["Money", "Customers"]) tag_ids.push((await byOwner("POST", "/api/v1/tags", { name })).body.id);
await notifiedAgents();

function messages() {
  last = host.messages.slice(seenMessages);
  seenMessages = host.messages.length;
  return last;
}
const messageOf = (header: string) => last.find(({ message }) => message.startsWith(header))!.message.split("\n");

/** The ids of the events that `newEventTypes` has counted. It returns new events in the order in which streams show them. */
const shown = new Set<string>();
async function newEventTypes(task_id: string): Promise<string[]> {
  const rows = await world.db
    .select()
    .from(activity_events)
    .where(eq(activity_events.task_id, task_id))
    .orderBy(asc(activity_events.tx), asc(activity_events.seq));
  const fresh = rows.filter(({ id }) => !shown.has(id));
  for (const { id } of fresh) shown.add(id);
  return fresh.map(({ event_type }) => event_type);
}

test("a customer's webhook post notifies only the lead, with the path of the payload", async () => {
  const webhook = await createWebhook(world, home, { description: "Have done what customers want" });
  payload_id = await postPayload(world, webhook, "Where is my refund? Order 4711", { "content-type": "text/plain" });
  expect(await notifiedAgents()).toEqual(["lead: WEBHOOK EVENT RECEIVED"]);
  const [, path] = /GET (\/api\/v1\/agent\/\S+\/payloads\/\S+)/.exec(last[0]!.message)!;
  const payload = await world.call("GET", path!, { agent: lead.token });
  expect([payload.body.id, payload.body.payload]).toEqual([payload_id, "Where is my refund? Order 4711"]);
});

test("the lead creates tasks with priority, tags and a dependency, and only the assignee is notified", async () => {
  const requested = {
    title: "Refund order 4711",
    description: `Attach the receipt. Payload ${payload_id}`,
    priority: "high",
    tag_ids,
    assigned_agent_id: worker.id,
  };
  expect((await by(worker, "POST", "tasks", requested)).status).toBe(403);
  const created = await by(lead, "POST", "tasks", requested);
  expect(created.body).toMatchObject({ ...requested, status: "inbox", created_by_user_id: null, is_blocked: false });
  expect(created.body.tags.map(({ name }: { name: string }) => name)).toEqual(["Money", "Customers"]);
  refund = created.body.id;

  const next = { title: "Tell the customer", depends_on_task_ids: [refund] };
  const tooEarly = await by(lead, "POST", "tasks", { ...next, assigned_agent_id: other.id });
  expect(refusal(tooEarly)).toMatchObject([409, { code: "task_blocked_cannot_transition", blocked_by_task_ids: [refund] }]);
  const free = await by(lead, "POST", "tasks", next);
  expect(free.body).toMatchObject({ is_blocked: true, blocked_by_task_ids: [refund], assigned_agent_id: null });
  letter = free.body.id;

  expect(await notifiedAgents()).toEqual(["worker: TASK ASSIGNED"]);
  expect(messageOf("TASK ASSIGNED").slice(0, 6)).toEqual([
    "TASK ASSIGNED",
    "Board: shop board",
    "Task: Refund order 4711",
    `Task ID: ${refund}`,
    "Status: inbox",
    `Description: ${requested.description}`,
  ]);
  expect(await newEventTypes(refund)).toEqual(["task.created", "task.assigned", "task.assignee_woken", "task.assignee_notified"]);
  expect(await newEventTypes(letter)).toEqual(["task.created"]);
});

test("another worker can claim neither an assigned task nor a blocked one", async () => {
  const claim = await change(other, refund, { status: "in_progress" });
  expect(refusal(claim)).toMatchObject([409, { code: "task_already_claimed" }]);
  const waiting = await change(other, letter, { status: "in_progress" });
  expect(refusal(waiting)).toMatchObject([409, { code: "task_blocked_cannot_transition", blocked_by_task_ids: [refund] }]);
  for (const query of ["status=inbox&unassigned=true", "status=blocked"]) {
    const found = await by(other, "GET", `tasks?${query}`);
    expect(found.body.items).toMatchObject([{ id: letter, is_blocked: true }]);
  }
  expect([await notifiedAgents(), await newEventTypes(refund), await newEventTypes(letter)]).toEqual([[], [], []]);
});

test("the worker starts, and a move to review without a comment and a move to done without a review are refused", async () => {
  const started = await change(worker, refund, { status: "in_progress" });
  expect(started.body).toMatchObject({ status: "in_progress", assigned_agent_id: worker.id, in_progress_at: expect.any(String) });
  expect(await newEventTypes(refund)).toEqual(["task.status_changed", "task.assignee_woken"]);

  expect(refusal(await change(worker, refund, { status: "review" }))).toEqual([422, "Comment is required."]);
  expect(refusal(await change(worker, refund, { status: "done" }))).toEqual([
    409,
    { message: "Task can only be marked done from review when the board rule is enabled.", blocked_by_task_ids: [] },
  ]);
  expect([await notifiedAgents(), await newEventTypes(refund)]).toEqual([[], []]);
});

test("a question that mentions the lead notifies it, and its reply notifies the worker", async () => {
  await by(worker, "POST", `tasks/${refund}/comments`, { content: "@lead with the shipping or without?" });
  expect(await notifiedAgents()).toEqual(["lead: TASK MENTION"]);
  expect(messageOf("TASK MENTION")).toEqual(
    expect.arrayContaining([`From: agent ${worker.id} (Worker)`, "@lead with the shipping or without?"]),
  );
  await by(lead, "POST", `tasks/${refund}/comments`, { content: "With it." });
  expect(await notifiedAgents()).toEqual(["worker: NEW TASK COMMENT"]);
  const comments = await by(worker, "GET", `tasks/${refund}/comments`);
  expect(comments.body.items.map(({ agent_id, message }: { agent_id: string; message: string }) => [agent_id, message])).toEqual([
    [worker.id, "@lead with the shipping or without?"],
    [lead.id, "With it."],
  ]);
  expect(await newEventTypes(refund)).toEqual(["task.comment", "task.comment"]);
});

test("the lead receives the work for review with a comment and sends it back to its worker", async () => {
  const reviewed = await change(worker, refund, { status: "review", comment: "Refunded 94.90." });
  expect(reviewed.body).toMatchObject({ status: "review", assigned_agent_id: lead.id });
  expect(await notifiedAgents()).toEqual(["lead: NEW TASK COMMENT", "lead: TASK READY FOR LEAD REVIEW"]);
  expect(messageOf("TASK READY FOR LEAD REVIEW").at(-1)).toContain("review the deliverables");
  const afterHandOver = ["task.comment", "task.status_changed", "task.assigned", "task.assignee_woken", "task.assignee_notified"];
  expect(await newEventTypes(refund)).toEqual(afterHandOver);

  const back = await change(lead, refund, { status: "inbox", comment: "The receipt is missing." });
  expect(back.body).toMatchObject({ status: "inbox", assigned_agent_id: worker.id, in_progress_at: null });
  expect(await notifiedAgents()).toEqual(["worker: CHANGES REQUESTED", "worker: NEW TASK COMMENT"]);
  expect(messageOf("CHANGES REQUESTED")).toEqual(expect.arrayContaining(["Requested changes:", "The receipt is missing."]));
  expect(await newEventTypes(refund)).toEqual([...afterHandOver.slice(0, -1), "task.rework_notified"]);
});

test("a second round needs a new comment before its review", async () => {
  await change(worker, refund, { status: "in_progress" });
  expect(refusal(await change(worker, refund, { status: "review" }))).toEqual([422, "Comment is required."]);
  const reviewed = await change(worker, refund, { status: "review", comment: "Receipt R-4711 is attached." });
  expect(reviewed.body).toMatchObject({ status: "review", assigned_agent_id: lead.id });
  expect(await notifiedAgents()).toEqual(["lead: NEW TASK COMMENT", "lead: TASK READY FOR LEAD REVIEW"]);
});

const NOT_APPROVED = [
  409,
  { message: "Task can only be marked done when a linked approval has been approved.", blocked_by_task_ids: [] },
];

test("the move to done is refused until a person has approved, and a pending request is not enough", async () => {
  expect(refusal(await change(lead, refund, { status: "done" }))).toEqual(NOT_APPROVED);
  const request = { action_type: "task.done", description: "Refunded, with receipt", task_id: refund, confidence: 90 };
  const requested = await by(lead, "POST", "approvals", request);
  expect(requested.body).toMatchObject({ ...request, status: "pending", agent_id: lead.id, task_titles: ["Refund order 4711"] });
  approval_id = requested.body.id;
  expect(refusal(await change(lead, refund, { status: "done" }))).toEqual(NOT_APPROVED);
  const again = await by(lead, "POST", "approvals", request);
  expect(refusal(again)).toMatchObject([409, { conflicts: [{ task_id: refund, approval_id }] }]);
  const path = `/api/v1/boards/${home.board_id}/approvals/${approval_id}`;
  expect((await world.call("PATCH", path, { agent: lead.token, body: { status: "approved" } })).status).toBe(401);
  expect(await notifiedAgents()).toEqual([]);

  await decide({ status: "rejected" });
  expect(await notifiedAgents()).toEqual(["lead: APPROVAL RESOLVED"]);
  expect(refusal(await change(lead, refund, { status: "done" }))).toEqual(NOT_APPROVED);
});

test("a person's approval notifies the lead, allows the move to done and unblocks the dependent task", async () => {
  const decided = await decide({ status: "approved" });
  expect(decided.body).toMatchObject({
    status: "approved",
    resolved_at: expect.any(String),
    resolved_by_user_id: expect.any(String),
  });
  expect(await notifiedAgents()).toEqual(["lead: APPROVAL RESOLVED"]);
  expect(messageOf("APPROVAL RESOLVED")).toEqual(expect.arrayContaining(["Decision: approved", `Task ID: ${refund}`]));
  await newEventTypes(refund);

  const done = await change(lead, refund, { status: "done" });
  expect(done.body).toMatchObject({ status: "done", is_blocked: false });
  expect(await newEventTypes(refund)).toEqual(["task.status_changed"]);
  expect(await newEventTypes(letter)).toEqual(["task.updated"]);
  const free = await by(other, "GET", "tasks?status=inbox&unassigned=true");
  expect(free.body.items).toMatchObject([{ id: letter, is_blocked: false, blocked_by_task_ids: [] }]);
  expect(await notifiedAgents()).toEqual([]);
});

test("one of two workers that claim the unblocked task at once gets it, and neither is notified", async () => {
  const claims = await Promise.all([worker, other].map((agent) => change(agent, letter, { status: "in_progress" })));
  const [won, lost] = claims[0]!.status === 200 ? claims : claims.toReversed();
  const claimed = [409, { message: "Task was claimed by another agent.", code: "task_already_claimed" }];
  expect([won!.status, refusal(lost!)]).toEqual([200, claimed]);
  const winner = claims[0] === won ? worker : other;
  expect(won!.body).toMatchObject({ status: "in_progress", assigned_agent_id: winner.id });
  expect(await notifiedAgents()).toEqual([]);

  await change(winner, letter, { status: "review", comment: "Written." });
  const requested = await by(lead, "POST", "approvals", { action_type: "task.done", description: "Written", task_id: letter });
  approval_id = requested.body.id;
  await decide({ status: "approved" });
  expect((await change(lead, letter, { status: "done" })).status).toBe(200);
  expect(await notifiedAgents()).toEqual([
    "lead: APPROVAL RESOLVED",
    "lead: NEW TASK COMMENT",
    "lead: TASK READY FOR LEAD REVIEW",
  ]);
});

test("at the end all tasks are done, all notifications delivered and all approvals granted", async () => {
  const done = await by(lead, "GET", "tasks?status=done");
  expect(done.body.items.map(({ id }: { id: string }) => id)).toEqual([letter, refund]);
  const approved = await byOwner("GET", `/api/v1/boards/${home.board_id}/approvals?status=approved`);
  expect(approved.body.total).toBe(2);
  const tags = await byOwner("GET", "/api/v1/tags");
  expect(tags.body.items.map(({ task_count }: { task_count: number }) => task_count)).toEqual([1, 1]);
  const notifications = await world.db
    .select()
    .from(jobs)
    .where(inArray(jobs.kind, ["notice", "webhook.notify"]));
  expect([...new Set(notifications.map(({ status }) => status))]).toEqual(["done"]);
});
