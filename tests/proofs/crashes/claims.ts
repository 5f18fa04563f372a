/** Agents that take all tasks of a board at the same time. The board has far more tasks than there are agents. */
import { task_transitions, tasks } from "@board/core/schema/all-tables";
import { and, eq } from "drizzle-orm";
import { expect } from "vitest";
import { openServerWorld } from "../../support/postgres-world.ts";
import { addRaceBoard, countDeadlocks } from "../../support/task-races.ts";
import type { World } from "../../support/world.ts";

export interface ClaimsPlan {
  tasks: number;
  agents: number;
}

export interface ClaimsFigures extends Record<string, number> {
  agents: number;
  claims: number;
  deadlocks: number;
  /** The highest and the lowest number of tasks that one agent took. */
  most: number;
  fewest: number;
}

/** Lets all agents take tasks until there is none. Throws when a task was handed out twice or not at all. */
export async function runClaims(plan: ClaimsPlan): Promise<ClaimsFigures> {
  const { world, close } = await openServerWorld({}, plan.agents);
  try {
    const board = await addRaceBoard(world, await world.tenant("claims"), plan.agents);
    const ids = await board.tasks(plan.tasks);
    const taken = await Promise.all(board.workers.map(({ token }) => takeAll(world, token)));
    expect(taken.flat().toSorted()).toEqual(ids);
    await expectOneHolder(world, board.board_id, new Map(board.workers.map(({ id }, index) => [id, taken[index]!])));
    const counts = taken.map(({ length }) => length);
    const deadlocks = await countDeadlocks(world);
    return {
      agents: plan.agents,
      claims: taken.flat().length,
      deadlocks,
      most: Math.max(...counts),
      fewest: Math.min(...counts),
    };
  } finally {
    await close();
  }
}

/** Takes tasks until there is none and returns their ids. */
async function takeAll(world: World, agent: string): Promise<string[]> {
  const taken: string[] = [];
  for (;;) {
    const { status, body } = await world.call("POST", "/api/v1/agent/tasks/next", { agent, body: { parallel: true } });
    expect(status).toBe(200);
    if (body.task === null) return taken;
    taken.push(body.task.id);
  }
}

/** Checks that each task was started once, under its first lease, and that its row names the agent that received it. */
async function expectOneHolder(world: World, board_id: string, taken: ReadonlyMap<string, readonly string[]>): Promise<void> {
  const rows = await world.db.select().from(tasks).where(eq(tasks.board_id, board_id));
  const held = Map.groupBy(rows, ({ assigned_agent_id }) => assigned_agent_id);
  for (const [agent_id, ids] of taken) expect((held.get(agent_id) ?? []).map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  expect(new Set(rows.map(({ status, lease_fence }) => `${status} ${lease_fence}`))).toEqual(new Set(["in_progress 1"]));
  const begun = and(eq(task_transitions.board_id, board_id), eq(task_transitions.to_status, "in_progress"));
  expect(await world.db.$count(task_transitions, begun)).toBe(rows.length);
}
