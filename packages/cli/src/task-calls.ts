import { ApiError, type Task, type TaskComment, type TaskUpdate } from "@board/client";
import { UsageError } from "./failure.ts";
import { findLease, forgetLease, type Session, UUID } from "./session.ts";
import { PROGRAM } from "./program.ts";

const STATUSES = ["inbox", "in_progress", "review", "done", "blocked"] as const;
export type TaskStatus = (typeof STATUSES)[number];

export function toStatus(text: string): TaskStatus {
  const status = STATUSES.find((name) => name === text.toLowerCase().replaceAll("-", "_"));
  if (!status) throw new UsageError(`There is no status ${text}. Use one of: ${STATUSES.join(", ")}`);
  return status;
}

export function requireTaskId(text: string): string {
  if (!UUID.test(text)) throw new UsageError(`${text} is not the id of a task. "${PROGRAM} tasks" shows the ids.`);
  return text.toLowerCase();
}

/** Changes a task and sends the fence of the lease that this caller holds. */
export function changeTask(session: Session, task_id: string, update: TaskUpdate, comment?: string): Promise<Task> {
  return withLease(session, task_id, async (board_id, header) => {
    const params = { path: { board_id, task_id }, header };
    const body = comment ? { ...update, comment } : update;
    const task = await session.client.patch("/api/v1/boards/{board_id}/tasks/{task_id}", { params, body });
    if (!task.lease) forgetLease(session, task_id);
    return task;
  });
}

export const commentOnTask = (session: Session, task_id: string, content: string): Promise<TaskComment> =>
  withLease(session, task_id, (board_id, header) => {
    const params = { path: { board_id, task_id }, header };
    return session.client.post("/api/v1/boards/{board_id}/tasks/{task_id}/comments", { params, body: { content } });
  });

/** Releases a task. The comment, if any, is posted first and says how far the work got. */
export async function releaseTask(session: Session, task_id: string, comment?: string): Promise<void> {
  if (comment) await commentOnTask(session, task_id, comment);
  await withLease(session, task_id, (board_id, header) =>
    session.client.delete("/api/v1/agent/boards/{board_id}/tasks/{task_id}/lease", {
      params: { path: { board_id, task_id }, header },
    }),
  );
  forgetLease(session, task_id);
}

/**
 * Makes a call with a task's board and fence. If the lease is lost, its stored copy is deleted, so that later calls send no old
 * fence.
 */
async function withLease<T>(
  session: Session,
  task_id: string,
  call: (board_id: string, header: { "X-Task-Fence"?: number }) => Promise<T>,
): Promise<T> {
  const lease = findLease(session, task_id);
  try {
    return await call(lease?.board_id ?? (await session.findBoardIdOf(task_id)), lease ? { "X-Task-Fence": lease.fence } : {});
  } catch (error) {
    if (error instanceof ApiError && error.code === "task_lease_lost") forgetLease(session, task_id);
    throw error;
  }
}
