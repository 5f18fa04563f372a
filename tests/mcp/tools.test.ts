import { describe, expect, test } from "vitest";
import { tools } from "@board/api/mcp/tools";
import { openPullBoard, type PullBoard } from "../support/pull-board.ts";
import { countTokens } from "../support/tokens.ts";
import { setupWorld } from "../support/fixtures.ts";
import { connectMcp, REVISIONS } from "./support.ts";

let count = 0;
const openBoard = (board: object = {}): Promise<PullBoard> => openPullBoard(world, `person ${++count}`, board);

const world = await setupWorld();

const EVERYBODY = ["get_task", "list_tasks", "update_task", "comment_on_task", "remember", "recall", "get_board"];
const AGENTS = ["check_inbox", "next_task", "request_approval", "read_payload"];

describe.each(REVISIONS)("a client of the protocol version %s", (revision) => {
  test("an MCP client gets the tools of its role, and no more than twelve", async () => {
    const { owner, lead, worker } = await openBoard();
    const listed = async (token: string) => {
      const { client } = await connectMcp(world, token, revision);
      return (await client.listTools()).tools.map(({ name }) => name).toSorted();
    };
    expect(await listed(worker.token)).toEqual([...EVERYBODY, ...AGENTS, "release_task"].toSorted());
    expect(await listed(lead.token)).toEqual([...EVERYBODY, ...AGENTS, "create_task"].toSorted());
    expect(await listed(owner.token)).toEqual([...EVERYBODY, "create_task", "decide_approval"].toSorted());
  });

  test("an MCP client can use every tool", async () => {
    const { owner, lead, worker, board_id, call } = await openBoard();
    const asOwner = await connectMcp(world, owner.token, revision);
    const asLead = await connectMcp(world, lead.token, revision);
    const asWorker = await connectMcp(world, worker.token, revision);
    const used = new Set<string>();
    const use = async (connection: typeof asOwner, name: string, input: object = {}) => {
      used.add(name);
      const answer = await connection.use(name, input);
      expect(answer, JSON.stringify(answer.data)).toMatchObject({ refused: false });
      const { output } = tools.find((tool) => tool.name === name)!;
      expect(output.strict().safeParse(answer.data).error?.issues ?? []).toEqual([]);
      return answer;
    };
    const boards = await use(asOwner, "get_board");
    expect(boards.data).toEqual({ boards: [{ id: board_id, name: expect.any(String) }] });
    const made = await use(asOwner, "create_task", { board_id, title: "Count the lamps", description: "All of them" });
    const task_id = made.data.task.id;
    await use(asLead, "create_task", { title: "Polish the lamps", depends_on_task_ids: [task_id] });
    expect((await use(asWorker, "check_inbox")).data).toMatchObject({ has_work: true, counts: { free: 1 } });
    const next = await use(asWorker, "next_task", { lease_seconds: 60 });
    expect(next.data).toMatchObject({ task: { id: task_id, status: "in_progress" }, lease: { fence: 1 } });
    expect(next.text).toContain("All of them");
    const fence = next.data.lease.fence;
    await use(asWorker, "comment_on_task", { task_id, fence, content: "I have counted to 10" });
    await use(asWorker, "remember", { content: "There are 12 lamps", key: "lamps", tags: ["facts"] });
    const recalled = await use(asLead, "recall", { q: "LAMPS 12", tags: ["facts"] });
    expect(recalled.data).toMatchObject({ total: 1, entries: [{ key: "lamps", content: "There are 12 lamps" }] });
    const asked = await use(asWorker, "request_approval", { action_type: "buy", description: "Two more", task_ids: [task_id] });
    const { id: approval_id } = asked.data.approval;
    await use(asOwner, "decide_approval", { approval_id, board_id, status: "approved" });
    const read = await use(asLead, "get_task", { task_id });
    expect(read.data).toMatchObject({ comments: [{ content: "I have counted to 10" }], approvals: [{ status: "approved" }] });
    await use(asWorker, "update_task", { task_id, fence, status: "review", comment: "12 lamps" });
    const inbox = await use(asLead, "check_inbox", { limit: 20 });
    const through = inbox.data.messages.at(-1).id;
    const left = await use(asLead, "check_inbox", { ack_through: through });
    expect(left.data).toMatchObject({ messages: [], tasks: [{ id: task_id, status: "review" }] });
    await use(asLead, "update_task", { task_id, status: "done" });
    const second = await use(asWorker, "next_task");
    const given = { task_id: second.data.task.id, fence: second.data.lease.fence };
    const released = await use(asWorker, "release_task", { ...given, reason: "No polish here" });
    expect(released.data.task).toMatchObject({ status: "inbox", assigned_agent_id: null, lease: null });
    const found = await use(asOwner, "list_tasks", { board_id, q: "polish" });
    expect(found.data).toMatchObject({ total: 1, tasks: [{ title: "Polish the lamps" }] });
    const overview = await use(asWorker, "get_board");
    expect(overview.data).toMatchObject({
      board: { id: board_id, status: "active" },
      agents: [{ name: "Lead", is_board_lead: true }, { name: "Worker" }],
      people: [{ role: "owner" }],
      task_counts: { inbox: 1, done: 1, in_progress: 0 },
    });
    const hook = await call("POST", `/api/v1/boards/${board_id}/webhooks`, owner.token, { description: "Read it" });
    const post = await world.call("POST", hook.body.endpoint_path, { raw: `"${"é".repeat(5_000)}"` });
    const payload = { webhook_id: hook.body.id, payload_id: post.body.payload_id };
    const start = await use(asLead, "read_payload", payload);
    const rest = await use(asLead, "read_payload", { ...payload, offset: start.data.next_offset });
    expect(rest.data.next_offset).toBeNull();
    expect(start.data.text + rest.data.text).toBe(`"${"é".repeat(5_000)}"`);
    expect([...used].toSorted()).toEqual(tools.map(({ name }) => name).toSorted());
  });

  test("an MCP client gets a refusal as a tool error with the code, the message and the next step", async () => {
    const { owner, worker, addTask, addAgent, board_id } = await openBoard();
    const task_id = await addTask();
    const other = await addAgent("Other");
    const asWorker = await connectMcp(world, worker.token, revision);
    const asOther = await connectMcp(world, other.token, revision);
    await asWorker.use("next_task");
    const refusal = (status: number, code: string, message: unknown, next: unknown = expect.any(String)) => ({
      refused: true,
      data: { status, code, message, next },
    });
    expect(await asOther.use("update_task", { task_id, status: "in_progress" })).toMatchObject(
      refusal(409, "task_already_claimed", expect.any(String), expect.stringContaining("next_task")),
    );
    expect(await asWorker.use("comment_on_task", { task_id, fence: 7, content: "Late" })).toMatchObject(
      refusal(409, "task_lease_lost", expect.any(String), expect.stringContaining("Stop working")),
    );
    expect(await asWorker.use("release_task", { task_id, fence: 7, reason: "Never stored" })).toMatchObject(
      refusal(409, "task_lease_lost", expect.any(String)),
    );
    expect((await asWorker.use("get_task", { task_id })).data).toMatchObject({ task: { status: "in_progress" }, comments: [] });
    expect(await asOther.use("get_task", { task_id: board_id })).toMatchObject(refusal(404, "not_found", "Not Found"));
    expect(await asOther.use("get_task", { task_id: "x", assignee: 1 })).toMatchObject(
      refusal(422, "invalid_input", expect.stringMatching(/task_id: .*UUID.*assignee/)),
    );
    expect(await asOther.use("remember", {})).toMatchObject(refusal(422, "invalid_input", expect.stringContaining("required")));
    expect(await asOther.use("list_tasks", { limit: 201 })).toMatchObject(
      refusal(422, "invalid_input", "limit: Input should be less than or equal to 200"),
    );
    const asOwner = await connectMcp(world, owner.token, revision);
    expect(await asOwner.use("list_tasks")).toMatchObject(refusal(422, "invalid_input", expect.stringContaining("get_board")));
  });

  test("an MCP client reads long texts in parts", async () => {
    const { worker, addTask } = await openBoard();
    const description = Array.from({ length: 1_500 }, (_, index) => `line ${index}`).join("\n");
    const task_id = await addTask({ description });
    const { use } = await connectMcp(world, worker.token, revision);
    const start = (await use("get_task", { task_id })).data.task.description;
    expect(start).toMatch(/^line 0\n/);
    const [, shown, more, next] = /^([^]*) \[\.\.\. (\d+) more characters: get_task with offset (\d+)\]$/.exec(start)!;
    expect([shown, Number(more)]).toEqual([description.slice(0, Number(next)), description.length - Number(next)]);
    const second = (await use("get_task", { task_id, offset: Number(next) })).data.task.description;
    expect(second.slice(0, 1_000)).toBe(description.slice(Number(next), Number(next) + 1_000));
    expect((await use("list_tasks")).data.tasks[0]).not.toHaveProperty("description");
  });
});

test("a result with only the first 20 rows of a list says where the other rows are", async () => {
  const { owner, lead, addTask, board_id, call } = await openBoard();
  const depends_on_task_ids: string[] = [];
  for (let i = 0; i <= 20; i++) depends_on_task_ids.push(await addTask());
  const task_id = await addTask({ depends_on_task_ids });
  const path = `/api/v1/boards/${board_id}/tasks/${task_id}`;
  const add = (name: string) => call("POST", `${path}/artifacts`, owner.token, { name, content: "" });
  for (let i = 0; i <= 20; i++) expect((await add(`${i}.txt`)).status).toBe(200);
  const read = await (await connectMcp(world, lead.token)).use("get_task", { task_id });
  expect([read.data.dependencies.length, read.data.artifacts.length]).toEqual([20, 20]);
  expect(read.data.more).toEqual([
    `There are more dependencies: GET ${path}`,
    `There are more tasks that it waits for: GET ${path}`,
    `There are more files: GET ${path}/artifacts`,
  ]);
  expect(read.text.endsWith(read.data.more.join("\n"))).toBe(true);
  const { gateway_id } = (await call("GET", `/api/v1/boards/${board_id}`, owner.token)).body;
  const board = (name: string) => call("POST", "/api/v1/boards", owner.token, { name, description: "One of many", gateway_id });
  for (let i = 0; i < 20; i++) expect((await board(`Board ${i}`)).status).toBe(200);
  const boards = await (await connectMcp(world, owner.token)).use("get_board");
  expect([boards.data.boards.length, boards.data.more]).toEqual([20, ["There are more boards: GET /api/v1/boards"]]);
  expect(boards.text).toContain("There are more boards: GET /api/v1/boards");
});

test("an idle check of the inbox takes two statements, and its answer less than 1 KB", async () => {
  const { worker } = await openBoard();
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "check_inbox", arguments: {} } };
  const check = () => world.call("POST", "/mcp", { agent: worker.token, body });
  await check();
  world.statements.length = 0;
  const { text } = await check();
  expect(world.statements).toHaveLength(2);
  expect(Buffer.byteLength(text)).toBeLessThan(1_000);
});

// `countTokens` returns a little too much: with the tokenizers o200k and cl100k, the lists have 4.2 characters a token.
test("the list of tools takes at most 2,000 tokens for any role, and the instructions at most 600", async () => {
  const { owner, lead, worker } = await openBoard();
  for (const token of [owner.token, lead.token, worker.token]) {
    const { client } = await connectMcp(world, token);
    const { tools } = await client.listTools();
    expect(tools.length).toBeLessThanOrEqual(12);
    expect(countTokens(JSON.stringify(tools))).toBeLessThanOrEqual(2_000);
    expect(countTokens(client.getInstructions()!)).toBeLessThanOrEqual(600);
  }
});
