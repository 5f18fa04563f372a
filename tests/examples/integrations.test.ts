/** Tests that the examples of webhooks, subscriptions and changes do what their first line says, against a running service. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { cleanUpPrograms, temporaryFolder } from "../support/program.ts";
import { type PullBoard } from "../support/pull-board.ts";
import { setupExamples } from "./example-fixture.ts";

const examples = setupExamples();
afterAll(cleanUpPrograms);

async function createWebhook(board: PullBoard, fields: object = {}): Promise<string> {
  const body = { description: "Create a task for each order.", ...fields };
  const { id } = (await board.call("POST", `/api/v1/boards/${board.board_id}/webhooks`, board.owner.token, body)).body;
  return `${examples.url}/api/v1/boards/${board.board_id}/webhooks/${id}`;
}

test("send-webhook signs its posts, and a repeated post is recognized as a repetition", async () => {
  const board = await examples.openBoard("send-webhook");
  const output = "first post: 202\nrepeated post: 202, it was stored before\n";
  const signed = { ENDPOINT_URL: await createWebhook(board, { secret: "fence-and-lamp" }), SECRET: "fence-and-lamp" };
  expect(await examples.run("send-webhook", board, signed)).toBe(output);
  await expect(examples.run("send-webhook", board, { ...signed, SECRET: "another" })).rejects.toThrow(
    "Invalid webhook signature",
  );
});

test("send-webhook posts without a secret to a webhook that takes unsigned posts", async () => {
  const board = await examples.openBoard("unsigned");
  const output = await examples.run("send-webhook", board, { ENDPOINT_URL: await createWebhook(board) });
  expect(output).toMatch(/^first post: 202\n/);
});

test("send-github-webhook signs as GitHub does, and agents are notified of new issues only", async () => {
  const board = await examples.openBoard("github");
  expect(await examples.run("send-github-webhook", board)).toBe(
    "ping: 202\nissues: 202\nissues.opened: an agent is notified\nping: stored only\n",
  );
});

test("webhook-to-task makes one task from a posted event, with the payload as data", async () => {
  const board = await examples.openBoard("webhook-to-task");
  const example = examples.start("webhook-to-task", board);
  const answer = await fetch(await createWebhook(board), { method: "POST", body: '{"order":17}' });
  const { payload_id } = (await answer.json()) as { payload_id: string };
  await example.waitForOutput(new RegExp(`Task for payload ${payload_id}`));
  const { items } = (await board.call("GET", `/api/v1/boards/${board.board_id}/tasks`, board.owner.token)).body;
  expect(items).toMatchObject([{ title: "Look at an event" }]);
  expect(items[0].description).toContain('"order": 17');
});

test("receive-events verifies what the service sends, refuses the rest, and removes its subscription when it ends", async () => {
  const board = await examples.openBoard("receive-events");
  const example = examples.start("receive-events", board);
  const [, address] = await example.waitForOutput(/Test message: 204\. Listening at (\S+)/);
  const forged = await fetch(address!, { method: "POST", body: '{"type":"task.completed"}' });
  expect(forged.status).toBe(401);
  await board.addTask({ title: "Count the lamps" });
  await example.waitForOutput(/^task\.created inbox$/m);
  expect(example.stdout).toMatch(/^Refused: /m);
  await example.stop("SIGINT");
  const { total } = (await board.call("GET", `/api/v1/boards/${board.board_id}/subscriptions`, board.owner.token)).body;
  expect(total).toBe(0);
});

test("receive-slack-messages prints the lines that a channel would get", async () => {
  const board = await examples.openBoard("slack");
  const example = examples.start("receive-slack-messages", board);
  await example.waitForOutput(/^\*subscription\.test\*/m);
  await board.addTask({ title: "Count the lamps", status: "done" });
  await example.waitForOutput(/^\*task\.completed\* · task \S+ · done · by a person · </m);
  expect(await example.stop("SIGINT")).toBe(0);
});

test("mirror brings its file up to date with what was changed, added and removed", async () => {
  const board = await examples.openBoard("mirror");
  const MIRROR = path.join(temporaryFolder(), "tasks.json");
  const titles = () =>
    Object.values(JSON.parse(readFileSync(MIRROR, "utf8")).tasks as Record<string, { title: string }>).map(({ title }) => title);
  const [kept, removed] = [await board.addTask({ title: "Paint" }), await board.addTask({ title: "Sweep" })];
  expect(await examples.run("mirror", board, { MIRROR })).toBe(`2 tasks in ${MIRROR}\n`);
  const at = (id: string) => `/api/v1/boards/${board.board_id}/tasks/${id}`;
  await board.call("PATCH", at(kept), board.owner.token, { title: "Paint twice" });
  await board.call("DELETE", at(removed), board.owner.token);
  await board.addTask({ title: "Count" });
  expect(await examples.run("mirror", board, { MIRROR })).toBe(`2 tasks in ${MIRROR}\n`);
  expect(titles().toSorted()).toEqual(["Count", "Paint twice"]);
});

test("follow-changes resumes where it stopped and misses nothing in between", async () => {
  const board = await examples.openBoard("follow-changes");
  const POSITION = path.join(temporaryFolder(), "position.txt");
  const first = examples.start("follow-changes", board, { POSITION });
  await first.waitForOutput(/^Following$/m);
  const id = await board.addTask();
  await first.waitForOutput(/^task created by user$/m);
  await first.stop();
  await board.call("PATCH", `/api/v1/boards/${board.board_id}/tasks/${id}`, board.owner.token, { title: "Changed" });
  const second = examples.start("follow-changes", board, { POSITION });
  await second.waitForOutput(/^task updated by user$/m);
  expect(second.stdout).toMatch(/^Following\n(?:task created by user\n)?task updated by user\n$/);
});

test("follow-changes misses nothing if it is killed while it stores its position", async () => {
  const board = await examples.openBoard("follow-changes");
  const POSITION = path.join(temporaryFolder(), "position.txt");
  const NODE_OPTIONS = `--require ${path.resolve(import.meta.dirname, "../support/killed-write.cjs")}`;
  const killed = examples.start("follow-changes", board, { POSITION, NODE_OPTIONS });
  await killed.waitForOutput(/^Following$/m);
  await board.addTask();
  await killed.exited;
  const next = examples.start("follow-changes", board, { POSITION });
  await next.waitForOutput(/^task created by user$/m);
  expect(next.stdout).toBe("Following\ntask created by user\n");
});
