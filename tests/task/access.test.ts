import { tasks } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { agentTaskPath, createTeam, taskPath, type Team, type Credential } from "../support/task-rules.ts";
import { addTask } from "../support/task.ts";
import { createWorld, type Person, type Tenant, type World } from "../support/world.ts";

/** Who may create, change and delete tasks, and what is checked before that. */
let world: World;
let team: Team;
let abroad: Tenant;
let reader: Person;
let elsewhere: Awaited<ReturnType<typeof addBoard>>;
let owner: Credential;
let worker: Credential;
let lead: Credential;

beforeAll(async () => {
  world = await createWorld();
  team = await createTeam(world, "home");
  owner = { token: team.owner.token };
  [worker, lead] = [team.worker, team.lead].map(({ token }) => ({ agent: token })) as [Credential, Credential];
  abroad = await world.tenant("abroad");
  elsewhere = await addBoard(world, team, "Elsewhere");
  reader = await world.person("reader");
  await world.join(reader, team.organization_id, "member", { read: true });
});
afterAll(() => world.close());

const add = () => addTask(world, team);
const path = (board_id = team.board_id) => `/api/v1/boards/${board_id}/tasks`;
const agentPath = (board_id = team.board_id) => `/api/v1/agent/boards/${board_id}/tasks`;
const remove = (who: Credential, { id }: { id: string }) =>
  world.call("DELETE", "agent" in who ? agentTaskPath(team, id) : taskPath(team, id), who);

describe("access to creating tasks", () => {
  const body = { title: "New" };
  const lead_only = { code: "forbidden", message: "Only board leads can perform this action" };

  test("access is refused first: workers and main agents cannot create tasks, and each caller has its own path", async () => {
    for (const { token } of [team.worker, team.main, elsewhere.agent])
      for (const at of [agentPath(), agentPath(crypto.randomUUID())]) {
        const refused = await world.call("POST", at, { agent: token, body: {} });
        expect([refused.status, refused.body.detail]).toEqual([403, lead_only]);
      }
    for (const at of [path(), "/api/v1/tasks"])
      expect((await world.call("POST", at, { agent: team.lead.token, body: { ...body, board_id: team.board_id } })).status).toBe(
        401,
      );
    expect((await world.call("POST", agentPath(), { token: team.owner.token, body })).status).toBe(401);
  });

  test("write access to the board is checked before the body when the path names the board", async () => {
    for (const bad of [body, {}])
      for (const [at, who, status] of [
        [path(), { token: reader.token }, 403],
        [path(), { token: abroad.owner.token }, 404],
        [path(crypto.randomUUID()), { token: team.owner.token }, 404],
        [agentPath(elsewhere.board_id), { agent: team.lead.token }, 403],
        [agentPath(abroad.board_id), { agent: team.lead.token }, 404],
      ] as const)
        expect([at, (await world.call("POST", at, { ...who, body: bad })).status]).toEqual([at, status]);
  });

  test("access is checked after the body when the body names the board", async () => {
    const answer = async (who: Person, sent: object) => {
      const { status, body: refused } = await world.call("POST", "/api/v1/tasks", { token: who.token, body: sent });
      return [status, refused.detail];
    };
    const { board_id } = team;
    expect(await answer(reader, { board_id })).toMatchObject([422, [{ loc: ["body", "title"] }]]);
    expect(await answer(team.owner, body)).toMatchObject([422, [{ type: "missing", loc: ["body", "board_id"] }]]);
    expect(await answer(team.owner, { ...body, board_id: "x" })).toMatchObject([422, [{ type: "uuid_parsing" }]]);
    expect(await answer(reader, { ...body, board_id })).toEqual([403, "Board access denied"]);
    expect(await answer(team.owner, { ...body, board_id: crypto.randomUUID() })).toEqual([404, "Not Found"]);
    expect(await answer(team.owner, { ...body, board_id: abroad.board_id })).toEqual([404, "Not Found"]);
  });
});

test("access to a task and its existence are checked before the body of a change", async () => {
  const task = await add();
  const foreign = await addTask(world, { board_id: elsewhere.board_id });
  for (const body of [{ title: "x" }, { title: null }])
    for (const [path, who, status] of [
      [taskPath(team, foreign.id), owner, 404],
      [taskPath(team, crypto.randomUUID()), owner, 404],
      [agentTaskPath(team, foreign.id), worker, 404],
      [agentTaskPath(elsewhere, foreign.id), worker, 403],
      [taskPath(elsewhere, foreign.id), worker, 403],
      [taskPath(team, task.id), { token: reader.token }, 403],
      [taskPath(team, task.id), { token: abroad.owner.token }, 404],
      [agentTaskPath(team, task.id), { agent: abroad.worker.token }, 404],
      [agentTaskPath(team, task.id), owner, 401],
      [taskPath(team, task.id), {}, 401],
    ] as const)
      expect([path, (await world.call("PATCH", path, { ...who, body })).status]).toEqual([path, status]);
});

test("only people with write access and the board's lead delete tasks", async () => {
  const [task, neighbour] = [await add(), await addTask(world, elsewhere)];
  const leads = { code: "forbidden", message: "Only board leads can perform this action" };
  for (const { token } of [team.worker, team.main, elsewhere.agent])
    for (const id of [task.id, crypto.randomUUID()]) {
      const refused = await remove({ agent: token }, { id });
      expect([refused.status, refused.body.detail]).toEqual([403, leads]);
    }
  for (const [path, who, status] of [
    [taskPath(team, task.id), { token: reader.token }, 403],
    [taskPath(team, task.id), { token: abroad.owner.token }, 404],
    [taskPath(team, task.id), { agent: team.lead.token }, 401],
    [agentTaskPath(team, task.id), owner, 401],
    [agentTaskPath(team, task.id), { agent: abroad.lead.token }, 404],
    [taskPath(team, neighbour.id), owner, 404],
    [agentTaskPath(team, neighbour.id), lead, 404],
    [agentTaskPath(elsewhere, neighbour.id), lead, 403],
    [taskPath(team, "none"), owner, 422],
  ] as const)
    expect([path, (await world.call("DELETE", path, who)).status]).toEqual([path, status]);
  for (const row of [task, neighbour]) expect(await world.db.select().from(tasks).where(eq(tasks.id, row.id))).toEqual([row]);
});

test("agents change the same task at both paths, under the same rules", async () => {
  for (const at of [taskPath, agentTaskPath]) {
    const task = await add();
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
