/** Tests that the examples for programs of people do what their first line says, as processes against a running service. */
import { expect, test } from "vitest";
import { setupExamples } from "./example-fixture.ts";

const examples = setupExamples();

test("page-through-a-list follows the links of the pages to the last task", async () => {
  const board = await examples.openBoard("pages");
  for (const priority of ["low", "high", "medium", "low", "high"]) await board.addTask({ title: "Task", priority });
  expect(await examples.run("page-through-a-list", board)).toBe(
    "high: Task\nhigh: Task\nmedium: Task\nlow: Task\nlow: Task\n5 tasks\n",
  );
});

test("edit-without-overwriting adds its line after what somebody else wrote at the same time", async () => {
  const board = await examples.openBoard("edits");
  const TASK = await board.addTask({ description: "Rooms:" });
  const lines = Array.from({ length: 4 }, (_, index) => `room ${index}`);
  await Promise.all(lines.map((LINE) => examples.run("edit-without-overwriting", board, { TASK, LINE })));
  const { description } = (await board.call("GET", `/api/v1/boards/${board.board_id}/tasks/${TASK}`, board.owner.token)).body;
  expect(description.split("\n").toSorted()).toEqual([...lines.map((line) => `- ${line}`), "Rooms:"]);
});

test("create-once creates one task in two runs and prints its id both times", async () => {
  const board = await examples.openBoard("create-once");
  const [first, second] = [await examples.run("create-once", board), await examples.run("create-once", board)];
  expect(second).toBe(first.replace("Created", "Created before"));
  expect((await board.call("GET", `/api/v1/boards/${board.board_id}/tasks`, board.owner.token)).body.total).toBe(1);
});

test("dependencies hands out a plan in its order and refuses a cycle", async () => {
  const board = await examples.openBoard("dependencies");
  expect(await examples.run("dependencies", board)).toBe(
    "Refused: Dependency cycle detected. Remove the cycle before saving.\nReady: Buy paint\nReady: Paint the hall\nReady: Hang the lamps\n",
  );
});

test("custom-fields stores values, shows why one is refused, and can run again", async () => {
  const board = await examples.openBoard("custom-fields");
  for (const time of ["first", "second"])
    expect(await examples.run("custom-fields", board), time).toMatch(
      /^{"lamps":2,"order_number":"ORD-17"}\n422: .*"field_key":"order_number".*\n$/,
    );
});

test("tags lets an agent take only a task with its tag", async () => {
  const board = await examples.openBoard("tags");
  expect(await examples.run("tags", board)).toBe("Taken: Describe the new lamps, tags Words\n");
});

test("export-board writes tasks with comments, memory, approvals, agents and webhooks as JSON", async () => {
  const board = await examples.openBoard("export");
  const task_id = await board.addTask({ title: "Count the lamps" });
  const at = `/api/v1/boards/${board.board_id}`;
  await board.call("POST", `${at}/tasks/${task_id}/comments`, board.owner.token, { content: "12 so far" });
  await board.call("POST", `${at}/memory`, board.owner.token, { content: "The cellar is locked" });
  expect(JSON.parse(await examples.run("export-board", board))).toMatchObject({
    board: { id: board.board_id },
    agents: [{}, {}],
    tasks: [{ id: task_id, comments: [{ content: "12 so far" }] }],
    memory: [{ content: "The cellar is locked" }],
    approvals: [],
    webhooks: [],
  });
});

test("remind-overdue comments once a day on each task that is overdue", async () => {
  const board = await examples.openBoard("overdue");
  const late = await board.addTask({ title: "Late", due_at: "2020-01-01T00:00:00Z", assigned_agent_id: board.worker.id });
  await board.addTask({ title: "Later", due_at: "2999-01-01T00:00:00Z" });
  await board.addTask({ title: "Some day" });
  for (const time of ["first", "second"]) expect(await examples.run("remind-overdue", board), time).toBe("Reminded: Late\n");
  const comments = await board.call("GET", `/api/v1/boards/${board.board_id}/tasks/${late}/comments`, board.owner.token);
  expect(comments.body.items).toMatchObject([{ content: "@Worker This was due 2020-01-01. What is missing?" }]);
});
