import { expect, test } from "vitest";
import { requestApproval } from "../support/approval.ts";
import { setupWorld } from "../support/fixtures.ts";
import { addTask } from "../support/task.ts";
import { outcomeOf, setRules } from "../support/task-rules.ts";

const world = await setupWorld();
const home = await world.tenant("home");

const ask = (body: object = {}) =>
  requestApproval(world, home, {
    action_type: "question",
    text: "Which color?",
    description: null,
    options: ["Red", "Green"],
    ...body,
  });
const decide = (id: string, body: object) =>
  world.call("PATCH", `/api/v1/boards/${home.board_id}/approvals/${id}`, { token: home.owner.token, body });
const inbox = async () => (await world.call("GET", "/api/v1/agent/inbox?limit=50", { agent: home.worker.token })).body.messages;

test("a question shows its text and options, and people are notified of it as a question", async () => {
  const asked = await ask();
  expect(asked).toMatchObject({ action_type: "question", description: "Which color?", payload: { options: ["Red", "Green"] } });
  await world.drain();
  const { body } = await world.call("GET", "/api/v1/users/me/inbox?limit=1", { token: home.owner.token });
  expect(body.items).toMatchObject([{ type: "question.asked", text: "Which color?", subject_id: asked.id }]);
});

test("the answer to a question is stored, and becomes a comment on the question's task by the person who answered", async () => {
  const task = await addTask(world, home);
  const { id } = await ask({ task_id: task.id, allow_text: true });
  const answer = { option: "Green", text: "Like the fence." };
  const decided = await decide(id, { status: "approved", answer });
  expect(decided.body).toMatchObject({ status: "approved", payload: { answer } });
  const comments = await world.call("GET", `/api/v1/boards/${home.board_id}/tasks/${task.id}/comments`, {
    token: home.owner.token,
  });
  expect(comments.body.items).toMatchObject([
    { message: 'Answer to "Which color?": Green\nLike the fence.', user_id: decided.body.resolved_by_user_id },
  ]);
});

test("the agent that asked finds the answer in its inbox", async () => {
  const pull = await world.call("POST", "/api/v1/boards", {
    token: home.owner.token,
    body: { name: "Pull", description: "Pull", gateway: "pull" },
  });
  const board_id = pull.body.id;
  const made = await world.call("POST", "/api/v1/agents", { token: home.owner.token, body: { name: "Puller", board_id } });
  const agent = made.body.auth_token;
  const body = { action_type: "question", text: "Which color?" };
  const asked = await world.call("POST", `/api/v1/agent/boards/${board_id}/approvals`, { agent, body });
  await world.call("PATCH", `/api/v1/boards/${board_id}/approvals/${asked.body.id}`, {
    token: home.owner.token,
    body: { status: "approved", answer: { text: "Green" } },
  });
  const { messages } = (await world.call("GET", "/api/v1/agent/inbox", { agent })).body;
  expect(messages).toMatchObject([{ kind: "question.answered", text: expect.stringContaining("Answer: Green") }]);
});

test.each([
  { status: "approved" },
  { status: "approved", answer: { option: "Blue" } },
  { status: "approved", answer: { text: "Blue" } },
])("the decision %j on a question with two options is refused", async (body) => {
  const { id } = await ask();
  expect((await decide(id, body)).status).toBe(422);
});

test("a rejected question has no answer", async () => {
  const { id } = await ask();
  expect((await decide(id, { status: "rejected" })).body.payload.answer).toBeNull();
  expect((await decide(id, { status: "pending" })).status).toBe(409);
});

test.each([
  { action_type: "Deploy", options: ["A", "B"] },
  { options: ["A"] },
  { options: ["A", "A"] },
  { options: ["A", "B", "C", "D", "E"] },
])("the request %j is refused", async (body) => {
  await expect(ask(body)).rejects.toThrow("422");
});

test("a question blocks no move of its task, and its answer does not approve the result", async () => {
  await setRules(world, home, { require_approval_for_done: true, block_status_changes_with_pending_approval: true });
  const task = await addTask(world, home);
  const move = (status: string) => outcomeOf(world, { token: home.owner.token }, task, { status });
  const message = "Task can only be marked done when a linked approval has been approved.";
  const unapproved = [409, { message, blocked_by_task_ids: [] }];
  const asked = await ask({ task_id: task.id });
  for (const status of ["in_progress", "blocked", "review"]) expect(await move(status)).toEqual([200, status]);
  expect(await move("done")).toEqual(unapproved);
  expect((await decide(asked.id, { status: "approved", answer: { option: "Green" } })).status).toBe(200);
  expect(await move("done")).toEqual(unapproved);
  const { id } = await requestApproval(world, home, { task_id: task.id });
  await decide(id, { status: "approved" });
  expect(await move("done")).toEqual([200, "done"]);
});

test("an approval of a task can be requested while a question of the task is pending", async () => {
  const task = await addTask(world, home);
  await ask({ task_id: task.id });
  await expect(requestApproval(world, home, { task_id: task.id })).resolves.toMatchObject({ status: "pending" });
  expect(await inbox()).toBeDefined();
});
