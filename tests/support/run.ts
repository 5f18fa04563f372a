import { addTask } from "./task.ts";
import type { Tenant, World } from "./world.ts";

/** Adds a task whose run an agent begins, and returns the ids of the task and the run, and the fence of the lease. */
export async function startRun(world: World, { board_id, owner, worker }: Tenant, agent = worker.token) {
  const { id: task_id } = await addTask(world, { board_id });
  const path = `/boards/${board_id}/tasks/${task_id}`;
  const lease = await world.call("PUT", `/api/v1/agent${path}/lease`, { agent, body: {} });
  const { body } = await world.call("GET", `/api/v1${path}`, { token: owner.token });
  return { task_id, run_id: body.run.id as string, fence: lease.body.fence as number };
}
