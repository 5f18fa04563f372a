import type { System } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import type { JobResult } from "../schema/job.sql.ts";
import type { JobKind, JobPayloads } from "./kinds.ts";

/** What a handler gets to know about its job, in addition to the payload. */
export interface JobInfo {
  /** The same at every attempt, so handlers derive idempotency keys from it. */
  id: string;
  lane: string | null;
  /** The decrypted secret of the job. */
  secret: string | null;
  /** No attempt follows when this one fails. */
  is_last_attempt: boolean;
}

/** Writes the handler's result, in the transaction that marks the job as done. */
export type CompletionWrite = (ctx: Context<System>) => Promise<void>;

/** What a job leaves behind: its result, and what is written in the transaction that marks it as done. */
export interface Completion {
  result: JobResult;
  write?: CompletionWrite;
}

/** The code that runs one kind of job. */
export interface JobHandler<K extends JobKind> {
  /**
   * Does the work, outside any transaction. It runs at least once, so it must be idempotent. A result is stored with the
   * job, in the statement that marks it as done.
   */
  run(ctx: Context<System>, payload: JobPayloads[K], job: JobInfo): Promise<CompletionWrite | Completion | void>;
  /** Records a failed attempt, in the transaction that schedules the next one. */
  onRetry?(ctx: Context<System>, payload: JobPayloads[K], reason: string, lane: string | null): Promise<void>;
  /** Records the final failure, in the transaction that marks the job as dead. */
  onDead?(ctx: Context<System>, payload: JobPayloads[K], reason: string, lane: string | null): Promise<void>;
}

/** One handler for each kind of job. */
export type JobHandlers = { readonly [K in JobKind]: JobHandler<K> };
