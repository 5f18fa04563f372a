import { runs, tasks } from "@board/core/schema/all-tables";
import { and, eq, sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { openServerWorld } from "../support/postgres-world.ts";
import { startRun } from "../support/run.ts";
import { addTask } from "../support/task.ts";
import { agentTaskPath, createTeam } from "../support/task-rules.ts";

const { world } = await setup(openServerWorld());
const team = await createTeam(world, "home");

test("a task has at most one running run while agents take it and give it back, and people move and stop it", async () => {
  const { id } = await addTask(world, team);
  const owner = { token: team.owner.token };
  const path = `/api/v1/boards/${team.board_id}/tasks/${id}`;
  const agents = [team.worker.token, team.second.token];
  const acts = [
    (n: number) => world.call("POST", "/api/v1/agent/tasks/next", { agent: agents[n % 2]!, body: {} }),
    (n: number) => world.call("PUT", `${agentTaskPath(team, id)}/lease`, { agent: agents[n % 2]!, body: {} }),
    (n: number) => world.call("DELETE", `${agentTaskPath(team, id)}/lease`, { agent: agents[n % 2]! }),
    () => world.call("PATCH", path, { ...owner, body: { status: "inbox" } }),
    (n: number) => world.call("PATCH", path, { ...owner, body: { assigned_agent_id: [team.worker.id, team.second.id][n % 2] } }),
    async () => {
      const [running] = await world.db
        .select()
        .from(runs)
        .where(and(eq(runs.task_id, id), eq(runs.status, "running")));
      const stop = `/api/v1/boards/${team.board_id}/runs/${running?.id}/stop`;
      return running ? world.call("POST", stop, { ...owner, body: {} }) : { status: 200 };
    },
  ];
  for (let round = 0; round < 15; round++) {
    const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => acts[(round * 5 + n) % acts.length]!(n)));
    expect(answers.map(({ status }) => status).filter((status) => status >= 500)).toEqual([]);
    const [task] = await world.db.select().from(tasks).where(eq(tasks.id, id));
    const stored = await world.db.select().from(runs).where(eq(runs.task_id, id));
    const running = stored.filter(({ status }) => status === "running");
    const works = task!.status === "in_progress" && task!.assigned_agent_id !== null;
    expect(running.map(({ id, agent_id, fence }) => [id, agent_id, fence])).toEqual(
      works ? [[task!.run_id, task!.assigned_agent_id, task!.lease_fence]] : [],
    );
    expect(task!.run_count).toBe(stored.length);
    expect(task!.run_status).toBe(stored.find(({ id }) => id === task!.run_id)?.status ?? null);
  }
  const ends = await world.db.execute(sql`select 1 from runs where ended_at < started_at`);
  expect((ends as unknown as { rows: unknown[] }).rows).toEqual([]);
});

test("a second running run of a task is refused by the database", async () => {
  const { task_id } = await startRun(world, team);
  const run = {
    board_id: team.board_id,
    task_id,
    agent_id: team.second.id,
    agent_name: "x",
    fence: 9,
    started_at: new Date(),
  };
  await expect(world.db.insert(runs).values(run)).rejects.toThrow(/insert into "runs"/);
});
