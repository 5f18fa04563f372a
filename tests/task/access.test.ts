/** Tests the checks before a task is created or changed. The access matrix tests who may create and change tasks. */
import { expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { setupWorld } from "../support/fixtures.ts";
import { agentTaskPath, createTeam, taskPath, type Credential } from "../support/task-rules.ts";
import { addTask } from "../support/task.ts";
import type { Person } from "../support/world.ts";

const world = await setupWorld();
const team = await createTeam(world, "home");
const abroad = await world.tenant("abroad");
const [worker, lead] = [{ agent: team.worker.token }, { agent: team.lead.token }];

test("when the body names the board, access to the board is checked after the body", async () => {
  const reader = await world.person("reader");
  await world.join(reader, team.organization_id, "member", { read: true });
  const answer = async (who: Person, body: object) => {
    const { status, body: refused } = await world.call("POST", "/api/v1/tasks", { token: who.token, body });
    return [status, refused.detail];
  };
  const { board_id } = team;
  expect(await answer(reader, { board_id })).toMatchObject([422, [{ loc: ["body", "title"] }]]);
  expect(await answer(team.owner, { title: "New" })).toMatchObject([422, [{ type: "missing", loc: ["body", "board_id"] }]]);
  expect(await answer(team.owner, { title: "New", board_id: "x" })).toMatchObject([422, [{ type: "uuid_parsing" }]]);
  expect(await answer(reader, { title: "New", board_id })).toEqual([403, "Board access denied"]);
  expect(await answer(team.owner, { title: "New", board_id: crypto.randomUUID() })).toEqual([404, "Not Found"]);
  expect(await answer(team.owner, { title: "New", board_id: abroad.board_id })).toEqual([404, "Not Found"]);
});

test("the existence of a task is checked before the body of a change", async () => {
  const foreign = await addTask(world, await addBoard(world, team, "Elsewhere"));
  for (const body of [{ title: "x" }, { title: null }])
    for (const [path, who] of [
      [taskPath(team, foreign.id), { token: team.owner.token }],
      [agentTaskPath(team, foreign.id), worker],
    ] as const)
      expect([path, (await world.call("PATCH", path, { ...who, body })).status]).toEqual([path, 404]);
});

test("agents change the same task at both paths, under the same rules", async () => {
  for (const at of [taskPath, agentTaskPath]) {
    const task = await addTask(world, team);
    const patch = (who: Credential, body: object) => world.call("PATCH", at(team, task.id), { ...who, body });
    const claimed = await patch(worker, { status: "in_progress" });
    expect([claimed.status, claimed.body.assigned_agent_id]).toEqual([200, team.worker.id]);
    const refused = await patch({ agent: team.main.token }, { status: "done" });
    expect([refused.status, refused.body.detail.code]).toEqual([403, "task_assignee_mismatch"]);
    expect((await patch(worker, { title: "Renamed" })).body.detail.code).toBe("task_update_field_forbidden");
    expect((await patch(lead, { assigned_agent_id: team.main.id })).body.assigned_agent_id).toBe(team.main.id);
    expect((await world.call("GET", taskPath(team, task.id), worker)).body.assigned_agent_id).toBe(team.main.id);
  }
});
