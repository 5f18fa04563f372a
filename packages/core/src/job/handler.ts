import type { System } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import type { JobResult } from "../schema/job.sql.ts";
import type { JobKind, JobPayloads } from "./kinds.ts";

/** What a handler gets about its job in addition to the payload. */
export interface JobInfo {
  /** The id is the same in every attempt, so handlers derive idempotency keys from it. */
  id: string;
  lane: string | null;
  /** The decrypted secret of the job. */
  secret: string | null;
  /** Whether the job is given up if this attempt fails. */
  is_last_attempt: boolean;
}

/** Writes the handler's result, in the transaction that marks the job as done. */
export type CompletionWrite = (ctx: Context<System>) => Promise<void>;

/** The outcome of a successful attempt: a result, and a write to run in the transaction that marks the job as done. */
export interface Completion {
  result: JobResult;
  write?: CompletionWrite;
}

/** The code that runs one kind of job. */
export interface JobHandler<K extends JobKind> {
  /**
   * Does the work, outside of any transaction. It may run more than once, so it must be idempotent. The statement that marks the
   * job as done also stores the returned result.
   */
  run(ctx: Context<System>, payload: JobPayloads[K], job: JobInfo): Promise<CompletionWrite | Completion | void>;
  /** Records a failed attempt, in the transaction that schedules the next one. */
  onRetry?(ctx: Context<System>, payload: JobPayloads[K], reason: string, lane: string | null): Promise<void>;
  /** Records the final failure, in the transaction that marks the job as dead. */
  onDead?(ctx: Context<System>, payload: JobPayloads[K], reason: string, lane: string | null): Promise<void>;
}

/** One handler for each kind of job. */
export type JobHandlers = { readonly [K in JobKind]: JobHandler<K> };
