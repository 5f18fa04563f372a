import { ApiError } from "@board/client";
import { setTimeout as pause } from "node:timers/promises";
import type { Journal } from "./journal.ts";
import { delayAfter, isTransient } from "./retry.ts";
import type { Step } from "./step.ts";

const MAX_BATCH = 200;
/** The maximum size of a batch, below the 1 MB that the service accepts. */
const MAX_BATCH_BYTES = 700_000;
/**
 * The sender waits this long after each batch. After a longer pause it sends a step almost at once, because somebody may be
 * watching.
 */
const INTERVAL_MS = 700;
const CHECK_MS = 150;

export interface StepSender {
  /** Sends the remaining steps and stops. Returns false when the service refused steps, or the signal aborted first. */
  finish(signal?: AbortSignal): Promise<boolean>;
  /** Stops without sending the remaining steps. */
  stop(): void;
}

export type PostSteps = (from: number, steps: Step[]) => Promise<unknown>;

/** Sends the steps of a journal in batches, in their order. Each batch contains the number of its first step. */
export function startStepSender(journal: Journal, post: PostSteps): StepSender {
  const stopping = new AbortController();
  let isFinishing = false;
  let isRefused = false;
  const wake = { now: () => {} };
  const working = work();
  // `finish` throws this error too. Until then, a journal that cannot be read must not end the runner.
  working.catch(() => {});

  async function work(): Promise<void> {
    let max = MAX_BATCH;
    for (let failures = 0; !stopping.signal.aborted && !isRefused; ) {
      const steps = journal.readSteps(journal.sent, max, MAX_BATCH_BYTES);
      if (steps.length === 0 && isFinishing) return;
      if (steps.length === 0) {
        await wait(CHECK_MS);
        continue;
      }
      try {
        await post(journal.sent, steps);
        journal.noteSent(journal.sent + steps.length);
        failures = 0;
        max = MAX_BATCH;
        if (steps.length < MAX_BATCH && !isFinishing) await wait(INTERVAL_MS);
      } catch (error) {
        const next = nextOf(error);
        if (next !== null && next !== journal.sent && next <= journal.steps) journal.noteSent(next);
        else if (isInvalid(error) && max > 1) max = 1;
        else if (isInvalid(error)) await replaceStep(steps[0]!);
        else if (isTransient(error) || isBusy(error)) await wait(delayAfter(error, failures++));
        else isRefused = true;
      }
    }
  }

  /** Sends a log line instead of a step that the service refuses as invalid, so that the steps after it can be sent. */
  async function replaceStep({ at }: Step): Promise<void> {
    const text = "A step of the agent could not be stored.";
    await post(journal.sent, [{ at, kind: "log", stream: "runner", text }]).then(
      () => journal.noteSent(journal.sent + 1),
      (error: unknown) => {
        if (!isTransient(error)) isRefused = true;
      },
    );
  }

  async function wait(ms: number): Promise<void> {
    const finished = new AbortController();
    wake.now = () => finished.abort();
    const signal = AbortSignal.any([stopping.signal, finished.signal]);
    await pause(ms, undefined, { signal }).catch(() => {});
  }

  return {
    async finish(signal) {
      isFinishing = true;
      wake.now();
      signal?.addEventListener("abort", () => stopping.abort(), { once: true });
      if (signal?.aborted) stopping.abort();
      await working;
      return !isRefused && journal.sent === journal.steps;
    },
    stop: () => stopping.abort(),
  };
}

/** Returns whether the service refused these steps because one of them is invalid or because they are too large together. */
const isInvalid = (error: unknown): boolean => error instanceof ApiError && (error.status === 422 || error.status === 413);

/** Returns whether the service is still handling another request about this run. */
const isBusy = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 409 && error.retry_after_seconds !== undefined;

/** Returns the number of the step that the service expects, if it refused a batch that began with another step. */
function nextOf(error: unknown): number | null {
  if (!(error instanceof ApiError) || error.status !== 409) return null;
  const { next } = (error.detail ?? {}) as { next?: unknown };
  return typeof next === "number" ? next : null;
}
