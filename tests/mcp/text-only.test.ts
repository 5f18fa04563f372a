import { expect, test } from "vitest";
import { splitFences } from "../support/fences.ts";
import { openPullBoard } from "../support/pull-board.ts";
import { setupWorld } from "../support/fixtures.ts";
import { connectMcp } from "./support.ts";

const world = await setupWorld();
const home = await openPullBoard(world, "home");

/** Connects a client that reads only the text of results, and trusts only the text outside fences. */
async function connect(token: string) {
  const { use } = await connectMcp(world, token);
  return async (tool: string, input: object = {}) => {
    const { refused, text } = await use(tool, input);
    expect([refused, text]).toEqual([false, text]);
    const { outside, inside } = splitFences(text);
    return { said: outside.join("\n"), quoted: inside };
  };
}

const ID = "([0-9a-f]{8}-[0-9a-f-]{27})";
const TIME = "(\\d{4}-\\d{2}-\\d{2}T[\\d:.]+Z)";
/** Returns what a pattern captures in a text. */
function find(text: string, pattern: string): string {
  const found = new RegExp(pattern, "m").exec(text)?.[1];
  expect(found, `${pattern} in\n${text}`).toBeDefined();
  return found!;
}

test("a client that reads only texts does a whole task: inbox, next task, comment, approval, review, done", async () => {
  const { board_id, owner, worker, lead } = home;
  const asWorker = await connect(worker.token);
  const asLead = await connect(lead.token);
  const asOwner = await connect(owner.token);

  // The person finds the board and creates a task. The text of the tool's answer contains the id of the task.
  expect(find((await asOwner("get_board")).said, ID)).toBe(board_id);
  const made = await asOwner("create_task", { board_id, title: "Count the lamps", description: "In all rooms" });
  const task_id = find(made.said, `^Task ${ID} \\[inbox\\]`);

  // The worker learns that there is work, takes it and gets id, fence and end of the lease.
  expect((await asWorker("check_inbox")).said).toMatch(/^Free tasks: 1\. Call next_task\.$/m);
  const next = await asWorker("next_task", { lease_seconds: 600 });
  expect(find(next.said, `^Task ${ID} \\[in_progress\\]`)).toBe(task_id);
  const fence = Number(find(next.said, "send fence (\\d+) with every write"));
  const ends = Date.parse(find(next.said, `lease with fence ${fence} until ${TIME}`));
  expect(new Date(ends).toISOString()).toBe(
    (await home.call("GET", `/api/v1/boards/${board_id}/tasks/${task_id}`, owner.token)).body.lease.expires_at,
  );
  expect(next.quoted.join("\n")).toMatch(/^Title: Count the lamps\n[^]*\nIn all rooms$/);
  const commented = await asWorker("comment_on_task", { task_id, fence, content: "12 so far" });
  const comment_id = find(commented.said, `^Comment ${ID} is on the task`);

  // It asks for approval; the person finds the request with the task, and decides.
  const asked = await asWorker("request_approval", { action_type: "buy", description: "Two more lamps", task_ids: [task_id] });
  const approval_id = find(asked.said, `^Approval ${ID} \\[pending\\]`);
  expect(asked.said).toMatch(/check_inbox/);
  const read = await asOwner("get_task", { task_id, board_id });
  expect(find(read.said, `^Comment ${ID} by agent ${worker.id}`)).toBe(comment_id);
  expect(find(read.said, `^Approval ${ID} \\[pending\\], requested by agent ${worker.id}`)).toBe(approval_id);
  expect(read.quoted).toEqual(expect.arrayContaining(["12 so far", "Action: buy\n\nTwo more lamps"]));
  const decided = await asOwner("decide_approval", { approval_id, board_id, status: "approved" });
  expect(find(decided.said, `^Approval ${ID} \\[approved\\]`)).toBe(approval_id);

  // The decision comes to the worker's inbox, where its own task is still shown with the fence.
  const heard = await asWorker("check_inbox");
  const message_id = find(heard.said, `^Message ${ID} \\(approval\\.resolved\\) from the service about task ${task_id}`);
  expect(heard.quoted.join("\n")).toContain("Decision: approved");
  expect(find(heard.said, `${ID} \\[in_progress\\].* lease with fence ${fence} until`)).toBe(task_id);
  expect(find(heard.said, `ack_through ${ID}`)).toBe(message_id);
  expect((await asWorker("check_inbox", { ack_through: message_id })).said).not.toContain("Message ");
  const submitted = await asWorker("update_task", { task_id, fence, status: "review", comment: "14 lamps" });
  expect(find(submitted.said, `^Task ${ID} \\[review\\]`)).toBe(task_id);
  expect(submitted.said).toContain("To get work, call next_task.");
  expect((await asWorker("next_task")).said).toMatch(/^No task\. Ask again in \d+ seconds\.$/);
  expect((await asWorker("check_inbox")).said).toMatch(/^No work\. Check again in \d+ seconds\.$/);

  // The lead finds the task in its inbox, reads it and closes it.
  const waiting = await asLead("check_inbox");
  expect(find(waiting.said, `^1\\. ${ID} \\[review\\]`)).toBe(task_id);
  expect(waiting.said).toMatch(/Tasks in review, .*get_task.*update_task/);
  const review = await asLead("get_task", { task_id });
  expect(review.quoted.at(-1)).toBe("14 lamps");
  expect(find(review.said, `^Task ${ID} \\[review\\], .*handed in by agent ${worker.id}`)).toBe(task_id);
  const listed = await asOwner("list_tasks", { board_id, status: "review" });
  expect(find(listed.said, `^1\\. ${ID} \\[review\\], .*handed in by agent ${worker.id}`)).toBe(task_id);
  await asLead("check_inbox", { ack_through: find(waiting.said, `ack_through ${ID}`) });
  expect(find((await asLead("update_task", { task_id, status: "done" })).said, `^Task ${ID} \\[done\\]`)).toBe(task_id);
  expect(find((await asOwner("list_tasks", { board_id, status: "done" })).said, `^1\\. ${ID} \\[done\\]`)).toBe(task_id);
});

test("a client that reads only texts gives a task back, and plans with the ids of agents, dependencies and people", async () => {
  const { board_id, owner, worker, lead } = home;
  const asWorker = await connect(worker.token);
  const asLead = await connect(lead.token);
  const board = await asLead("get_board");
  const agents = board.quoted.find((names) => names.includes("Worker"))!;
  const number = find(agents, "^(\\d+)\\. Worker$");
  const agent_id = find(board.said, `^${number}\\. agent ${ID} `);
  expect(agent_id).toBe(worker.id);
  expect(find(board.said, `^1\\. person ${ID} \\[owner\\]`)).toMatch(/./);

  const first = find((await asLead("create_task", { title: "First" })).said, `^Task ${ID} `);
  const second = find((await asLead("create_task", { title: "Second", depends_on_task_ids: [first] })).said, `^Task ${ID} `);
  const assigned = await asLead("update_task", { task_id: first, assigned_agent_id: agent_id });
  expect(find(assigned.said, `^Task ${ID} \\[inbox\\], .*agent ${agent_id}`)).toBe(first);
  const read = await asLead("get_task", { task_id: second });
  expect(find(read.said, `^It waits for ${ID}\\.$`)).toBe(first);
  expect(find(read.said, `^1\\. ${ID} \\[inbox\\]$`)).toBe(first);

  const next = await asWorker("next_task");
  const held = { task_id: find(next.said, `^Task ${ID} `), fence: Number(find(next.said, "send fence (\\d+)")) };
  expect(held.task_id).toBe(first);
  const given = await asWorker("release_task", { ...held, reason: "No ladder" });
  expect(given.said).toMatch(new RegExp(`^Task ${first} \\[inbox\\].*agent ${agent_id}`));
  await asWorker("remember", { content: "No ladder in the house", key: "ladder" });
  expect((await asLead("recall", { key: "ladder" })).said).toMatch(
    new RegExp(`^Entry ${ID} by agent ${worker.id}, ${TIME}:$`, "m"),
  );

  const description = { description: "Read it" };
  const hook = await home.call("POST", `/api/v1/boards/${board_id}/webhooks`, owner.token, description);
  await world.call("POST", hook.body.endpoint_path, { raw: "x".repeat(5_000) });
  const message = (await asLead("check_inbox", { limit: 50 })).quoted.find((text) => text.includes("Payload ID"))!;
  const payload = { webhook_id: find(message, `^Webhook ID: ${ID}$`), payload_id: find(message, `^Payload ID: ${ID}$`) };
  const start = await asLead("read_payload", payload);
  const rest = await asLead("read_payload", { ...payload, offset: Number(find(start.said, "begins at offset (\\d+) of 5000")) });
  expect(`${start.quoted[0]}${rest.quoted[0]}`).toBe("x".repeat(5_000));
});
