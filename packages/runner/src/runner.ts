import { mkdirSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { deliverAbandonedRuns } from "./abandoned-runs.ts";
import { type BoardService, handleOf, type TakenTask } from "./board-service.ts";
import { createJournal, journalFile, type RunFacts } from "./journal.ts";
import type { RunnerHost, RunnerOptions } from "./options.ts";
import { type OwnerLock, takeOwnership } from "./owner-lock.ts";
import { delayAfter, isRefusal, isTransient } from "./retry.ts";
import { runTask, type TaskRunContext } from "./task-run.ts";
import { openWorkSignal } from "./work-signal.ts";
import { findRepository } from "./worktree.ts";
import { removeDoneWorktrees } from "./worktree-removal.ts";

export interface RunnerControl {
  /** Aborted at the first signal. The runner then gives its tasks back. */
  stopping: AbortSignal;
  /** Aborted at the second signal. Everything then ends at once. */
  killing: AbortSignal;
}

const AFTER_MISTAKE_MS = 10_000;
const MAX_VIEW_TEXT = 80;

/** Takes tasks and works on them until the runner is stopped or a limit in its options is reached. */
export async function runTasks(
  service: BoardService,
  agent_id: string,
  state_folder: string,
  options: RunnerOptions,
  host: RunnerHost,
  { stopping, killing }: RunnerControl,
): Promise<void> {
  mkdirSync(state_folder, { recursive: true, mode: 0o700 });
  const repository = options.in_place ? null : await findRepository(options.folder);
  const limit = new AbortController();
  const ended = AbortSignal.any([stopping, limit.signal]);
  const signal = openWorkSignal(service, options.board_id, ended);
  const running = new Map<string, { title: string; since: number; last: string }>();
  let begun = 0;
  let cost = 0;
  let lastWork = performance.now();

  const show = () =>
    host.show(
      [...running.values()].map(({ title, since, last }) => {
        const seconds = Math.round((performance.now() - since) / 1_000);
        return `${title.slice(0, MAX_VIEW_TEXT)}  ${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}  ${last.slice(0, MAX_VIEW_TEXT)}  $${cost.toFixed(2)}`;
      }),
    );
  const clock = setInterval(show, 1_000);

  const undelivered = new Set<string>();
  const deliver = () =>
    deliverAbandonedRuns({ service, agent_id, folder: state_folder, undelivered, print: host.print, signal: killing }).catch(
      (error: unknown) => {
        if (!killing.aborted)
          host.print({ event: "warning", text: `Earlier runs could not be delivered: ${(error as Error).message}` });
      },
    );

  /** Takes one task and works on it, or waits until there may be a task to take. */
  async function workOnce(): Promise<void> {
    begun++;
    const taken = await takeTask().catch((error: unknown) => {
      begun--;
      throw error;
    });
    if (!taken) return void begun--;
    await workOn(taken);
    lastWork = performance.now();
  }

  async function takeTask(): Promise<TakenTask | null> {
    const { board_id, tags, lease_seconds } = options;
    for (let attempt = 0; ; attempt++) {
      ended.throwIfAborted();
      try {
        const answer = await service.takeTask({ ...(board_id ? { board_id } : {}), tags, lease_seconds });
        if ("task" in answer) return answer;
        const idle = performance.now() - lastWork;
        if (options.idle_ms !== null && running.size === 0 && idle >= options.idle_ms) {
          limit.abort();
          return null;
        }
        const left = options.idle_ms === null ? Number.POSITIVE_INFINITY : Math.max(1_000, options.idle_ms - idle);
        void deliver();
        await signal.wait({ retry_after_seconds: answer.retry_after_seconds, isFinal: answer.reason !== null, max_ms: left });
        attempt = -1;
      } catch (error) {
        if (ended.aborted || !isTransient(error)) throw error;
        host.print({ event: "waiting", text: `No answer of the service: ${(error as Error).message}` });
        await pause(delayAfter(error, attempt), undefined, { signal: ended });
      }
    }
  }

  async function workOn(taken: TakenTask): Promise<void> {
    const { task, fence } = taken;
    const run_id = task.run?.id;
    if (!run_id) throw new Error("The service has no runs yet. Update it to a version that has them.");
    const facts = {
      run_id,
      url: service.url,
      agent_id,
      board_id: task.board_id,
      task_id: task.id,
      fence,
      started_at: new Date().toISOString(),
    };
    const opened = await openJournal(facts);
    if (!opened) return;
    const { journal, lock } = opened;
    const state = { title: task.title, since: performance.now(), last: "" };
    running.set(run_id, state);
    host.print({ event: "task", text: `took: ${task.title}`, task_id: task.id, run_id });
    const context: TaskRunContext = {
      service,
      options,
      host,
      repository,
      stopping,
      killing,
      onStep(text) {
        state.last = text;
        if (host.verbose && text !== "") host.print({ event: "step", text, task_id: task.id, run_id });
      },
      onCost(usd) {
        cost += usd;
        if (options.max_cost_usd !== null && cost >= options.max_cost_usd) limit.abort();
      },
    };
    try {
      await runTask(context, taken, journal);
      journal.remove();
    } catch (error) {
      journal.close();
      if (!killing.aborted) throw error;
    } finally {
      running.delete(run_id);
      lock.release();
    }
  }

  /** Opens the journal of a task that was taken. Without a journal, nobody works on the task, so it is given back. */
  async function openJournal(facts: RunFacts) {
    let lock: OwnerLock | null = null;
    try {
      lock = takeOwnership(`${journalFile(state_folder, facts.run_id)}.lock`);
      return lock && { lock, journal: createJournal(state_folder, facts) };
    } catch (error) {
      lock?.release();
      await service.releaseTask(handleOf(facts)).catch(() => {});
      throw new Error(
        `A task was given back, because its run cannot be recorded in ${state_folder}: ${(error as Error).message}`,
        {
          cause: error,
        },
      );
    }
  }

  async function slot(): Promise<void> {
    // `begun` also counts tasks that other slots are requesting now.
    while (!ended.aborted && (options.max_tasks === null || begun < options.max_tasks))
      await workOnce().catch(async (error: unknown) => {
        if (ended.aborted) return;
        // A token that was refused will be refused again, so the runner stops. Other errors may concern a single task.
        if (isRefusal(error)) throw error;
        host.print({ event: "warning", text: (error as Error).message });
        await pause(AFTER_MISTAKE_MS, undefined, { signal: ended }).catch(() => {});
      });
  }

  try {
    await deliver();
    if (repository) void removeDoneWorktrees(service, repository, host.print, ended);
    const slots = Array.from({ length: options.parallel }, slot);
    // If one slot fails, the other slots take no further task, and their agents must have ended before the runner ends.
    try {
      await Promise.all(slots);
    } finally {
      limit.abort();
      await Promise.allSettled(slots);
    }
  } finally {
    limit.abort();
    clearInterval(clock);
    host.show([]);
  }
}
