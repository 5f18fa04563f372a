import { expect, test } from "vitest";
import { decideApproval, requestApproval } from "../support/approval.ts";
import { addTask } from "../support/task.ts";
import { agentTaskPath, openTeamFixture } from "../support/task-rules.ts";
import { setup } from "../support/fixtures.ts";

const fixture = await openTeamFixture();
const { world, team } = await setup(fixture);

const read = (id: string, agent = team.worker.token, at: { board_id: string } = team) =>
  world.call("GET", agentTaskPath(at, id), { agent });

test("an agent reads a task with its comments, dependencies and approvals in one request", async () => {
  const as = { token: team.owner.token };
  const create = async (body: object) =>
    (await world.call("POST", `/api/v1/boards/${team.board_id}/tasks`, { ...as, body })).body;
  const [first, second] = [await create({ title: "First" }), await create({ title: "Second", status: "done" })];
  const task = await create({ title: "Third", depends_on_task_ids: [second.id, first.id] });
  for (let number = 1; number <= 22; number++)
    await world.call("POST", `${agentTaskPath(team, task.id)}/comments`, {
      agent: team.lead.token,
      body: { content: `Note ${number}` },
    });
  const older = await requestApproval(world, team, { action_type: "Older", task_ids: [task.id] });
  await decideApproval(world, team, older.id, "approved");
  const newer = await requestApproval(world, team, { action_type: "Newer", task_ids: [first.id, task.id] });
  await requestApproval(world, team, { action_type: "Unrelated", task_ids: [second.id] });

  const { status, body } = await read(task.id);
  expect(status).toBe(200);
  const { comments, dependencies, approvals, ...record } = body;
  expect(record).toEqual((await world.call("GET", `/api/v1/boards/${team.board_id}/tasks/${task.id}`, as)).body);
  expect(comments.map(({ message }: { message: string }) => message)).toEqual(
    Array.from({ length: 20 }, (_, index) => `Note ${index + 3}`),
  );
  expect(dependencies).toEqual([
    { id: second.id, title: "Second", status: "done" },
    { id: first.id, title: "First", status: "inbox" },
  ]);
  expect(approvals.map(({ id }: { id: string }) => id)).toEqual([newer.id, older.id]);
});

test("a board's lead and the main agent of its gateway can read a task with its comments too", async () => {
  const { id } = await addTask(world, team);
  for (const { token } of [team.lead, team.main]) expect((await read(id, token)).body).toMatchObject({ id, comments: [] });
});
