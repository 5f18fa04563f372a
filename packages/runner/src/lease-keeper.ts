import type { Task } from "@board/client";
import { setTimeout as pause } from "node:timers/promises";
import type { BoardService, TaskHandle } from "./board-service.ts";
import { delayAfter, isTransient } from "./retry.ts";

export interface LeaseKeeper {
  stop(): void;
}

interface LeaseEvents {
  /** Called when another agent holds the task, or when the lease could not be renewed. */
  onLost(reason: string): void;
  /** Called when the task is no longer in progress although the lease lasts, for example because the coding agent has moved it. */
  onMoved(task: Task): void;
}

/** If the service cannot be reached, the work ends this long before the lease, so that there is time to end the agent. */
const MARGIN_MS = 10_000;

/** Renews a lease each time a third of it has passed. If the lease cannot be renewed in time, it calls `onLost`. */
export function keepLease(service: BoardService, handle: TaskHandle, lease_seconds: number, events: LeaseEvents): LeaseKeeper {
  const stopping = new AbortController();
  const { signal } = stopping;
  const length = lease_seconds * 1_000;
  void work().catch((error: unknown) => {
    if (!signal.aborted) events.onLost(`The lease could not be renewed: ${(error as Error).message}`);
  });

  async function work(): Promise<void> {
    let ends = performance.now() + length;
    for (;;) {
      await pause(length / 3, undefined, { signal });
      const asked = performance.now();
      const task = await renewBefore(ends - MARGIN_MS);
      if (signal.aborted) return;
      if (task === "unreachable") return events.onLost("The service could not be reached before the lease ended.");
      if (task === null) return events.onLost("The lease is lost.");
      if (task.status !== "in_progress") return events.onMoved(task);
      ends = asked + length;
    }
  }

  async function renewBefore(deadline: number): Promise<Task | null | "unreachable"> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await withDeadline(service.renewLease(handle), deadline, signal);
      } catch (error) {
        if (signal.aborted) throw error;
        if (error instanceof DeadlineError) return "unreachable";
        if (!isTransient(error)) throw error;
        const delay = delayAfter(error, attempt);
        if (performance.now() + delay >= deadline) {
          await pause(Math.max(0, deadline - performance.now()), undefined, { signal });
          return "unreachable";
        }
        await pause(delay, undefined, { signal });
      }
    }
  }

  return { stop: () => stopping.abort() };
}

class DeadlineError extends Error {}

async function withDeadline<T>(promise: Promise<T>, deadline: number, signal: AbortSignal): Promise<T> {
  const done = new AbortController();
  const late = pause(Math.max(0, deadline - performance.now()), undefined, { signal: AbortSignal.any([signal, done.signal]) });
  try {
    return await Promise.race([
      promise,
      late.then((): never => {
        throw new DeadlineError();
      }),
    ]);
  } finally {
    done.abort();
    late.catch(() => {});
  }
}
