import { expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { openPullBoard } from "../support/pull-board.ts";
import { connectMcp } from "./support.ts";

const world = await setupWorld();

test("a task with more comments than a result shows says where the earlier comments are", async () => {
  const { owner, worker, board_id, addTask, call } = await openPullBoard(world, "talkative");
  const task_id = await addTask();
  const path = `/api/v1/boards/${board_id}/tasks/${task_id}`;
  const comment = (n: number) => call("POST", `${path}/comments`, owner.token, { content: `Comment ${n}` });
  const { use } = await connectMcp(world, worker.token);
  for (let n = 1; n <= 10; n++) expect((await comment(n)).status).toBe(200);
  expect((await use("next_task")).data).not.toHaveProperty("more");
  for (let n = 11; n <= 20; n++) expect((await comment(n)).status).toBe(200);
  expect((await use("get_task", { task_id })).data).not.toHaveProperty("more");
  await comment(21);
  const more = [`There are more earlier comments: GET ${path}/comments`];
  for (const [tool, input, first] of [
    ["get_task", { task_id }, "Comment 2"],
    ["next_task", {}, "Comment 12"],
  ] as const) {
    const { data, text } = await use(tool, input);
    expect([data.comments[0].content, data.comments.at(-1).content, data.more]).toEqual([first, "Comment 21", more]);
    expect(text).toContain(more[0]);
  }
});

test("a board with more agents and people than a result shows says where the others are", async () => {
  const { owner, lead, board_id, organization_id, addAgent } = await openPullBoard(world, "crowded", { max_agents: 60 });
  const join = async (n: number) => world.join(await world.person(`member-${n}`), organization_id, "member", { read: true });
  for (let n = 0; n < 48; n++) await addAgent(`Agent ${n}`);
  for (let n = 0; n < 19; n++) await join(n);
  const full = await (await connectMcp(world, owner.token)).use("get_board", { board_id });
  expect([full.data.agents.length, full.data.people.length, full.data.more]).toEqual([50, 20, undefined]);
  await addAgent("One more");
  await join(19);
  for (const [token, agents, people] of [
    [owner.token, `GET /api/v1/agents?board_id=${board_id}`, "GET /api/v1/organizations/me/members"],
    [lead.token, `GET /api/v1/agent/agents?board_id=${board_id}`, "only people can list them"],
  ] as const) {
    const { data, text } = await (await connectMcp(world, token)).use("get_board", { board_id });
    const more = [`There are more agents: ${agents}`, `There are more people: ${people}`];
    expect([data.agents.length, data.people.length, data.more]).toEqual([50, 20, more]);
    expect(text.endsWith(more.join("\n"))).toBe(true);
  }
});

test("an inbox with more tasks than a result shows says how many there are", async () => {
  const { lead, worker, addTask, owner, board_id, call } = await openPullBoard(world, "busy");
  for (let n = 0; n < 11; n++) {
    await addTask({ assigned_agent_id: worker.id });
    const task_id = await addTask({ assigned_agent_id: worker.id });
    await call("PATCH", `/api/v1/boards/${board_id}/tasks/${task_id}`, owner.token, { status: "review", comment: "Done" });
  }
  for (const { token } of [worker, lead])
    expect((await (await connectMcp(world, token)).use("check_inbox")).text).toContain("10 of 11 tasks are shown.");
});
