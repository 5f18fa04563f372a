import { setTimeout as pause } from "node:timers/promises";
import type { Context } from "@board/core/context/context";
import { GatewayError } from "../wire/gateway-error.ts";
import { type HostEntry, listEntries } from "../host/entries.ts";
import { toGatewayMessage } from "../wire/failure.ts";
import type { GatewayRow } from "@board/core/gateway/target";
import { claimJobs } from "@board/core/job/claim";
import { readSubjects, type TemplateSubject } from "../template/template-data.ts";
import { forEachConcurrent, untilAborted } from "@board/core/values/concurrency";
import { addMissingEntries } from "./missing-entries.ts";
import type { PreparedSync } from "./prepare.ts";
import type { RunRow } from "./run.ts";
import type { SyncTarget } from "./selection.ts";
import {
  toFailedOutcome,
  listWaitingAgentIds,
  AGENT_GONE_ERROR,
  type AgentSyncOutcome,
  type AgentResult,
  toAgentResult,
} from "./agent-results.ts";
import { syncAgent } from "./agent.ts";

/**
 * Number of agents processed concurrently. Their calls share one socket, and the host returns the content of each file that it
 * writes, so a higher number would only fill buffers.
 */
const AGENT_CONCURRENCY = 32;
/** Interval in milliseconds between checks whether another process has finished an agent or the run. */
export const POLL_MS = 200;

/** What a worker leaves to its caller: results to record, and the targets that it did not finish. */
export interface WorkProgress {
  /** The results that are not recorded yet. */
  results: AgentResult[];
  /** Targets that were started. Their calls may still arrive at the host. */
  in_progress: SyncTarget[];
  /** Targets that were not started, or that stopped because of concurrent writes to the host's configuration. */
  not_started: SyncTarget[];
  /** Set when the host stayed unreachable for too long. `results` then contains the agent whose call failed. */
  unreachable: GatewayError | null;
}

/**
 * Processes the agents of a run over one socket until all have an outcome, the signal aborts or the host stays unreachable. Before
 * it waits for a lane of another process, it frees its own lanes by `record`, to avoid a deadlock.
 */
export async function processTargets(
  ctx: Context,
  { gateway, run, prepared }: { gateway: GatewayRow; run: RunRow; prepared: PreparedSync },
  { signal, record }: { signal: AbortSignal; record: (results: readonly AgentResult[]) => Promise<unknown> },
): Promise<WorkProgress> {
  const { host, entries, below_minimum, targets } = prepared;
  const remaining = new Set(targets);
  const in_progress = new Set<SyncTarget>();
  const results: AgentResult[] = [];
  const unreachable = new Map<SyncTarget, GatewayError>();
  const shouldStop = () => signal.aborted || unreachable.size > 0;

  function addResult(target: SyncTarget, outcome: AgentSyncOutcome, subject?: TemplateSubject): void {
    remaining.delete(target);
    results.push(toAgentResult(target.run_agent_id, outcome, subject));
  }

  async function processTarget(
    target: SyncTarget,
    subject: TemplateSubject | undefined,
    present: readonly HostEntry[],
  ): Promise<void> {
    if (!subject) return addResult(target, toFailedOutcome(AGENT_GONE_ERROR));
    in_progress.add(target);
    const { token, first } = target;
    try {
      const outcome = await syncAgent(ctx, host, subject, { query: run.options, token, first, present, below_minimum });
      // After the abort the job belongs to the queue, whose consumer records the outcome.
      if (!signal.aborted) addResult(target, outcome, subject);
    } catch (error) {
      if (!(error instanceof GatewayError) || signal.aborted) throw error;
      if (error.is_unreachable) unreachable.set(target, error);
      else if (!isTemporaryConflict(error)) addResult(target, toFailedOutcome(toGatewayMessage(error)), subject);
      in_progress.delete(target);
    }
  }

  /** Claims and processes the targets whose lanes are free. Returns the targets whose lanes other processes still hold. */
  async function claimAndProcess(
    pending: readonly SyncTarget[],
    known_entries: readonly HostEntry[] | null,
  ): Promise<SyncTarget[]> {
    const ids = new Set(
      await claimJobs(
        ctx,
        pending.map(({ job_id }) => job_id),
      ),
    );
    const claimed = pending.filter(({ job_id }) => ids.has(job_id));
    if (claimed.length > 0) {
      const rows = await readSubjects(
        ctx,
        gateway,
        claimed.map(({ agent }) => agent.id),
        run.options.user_id,
      );
      const isCreated = ({ agent }: TemplateSubject) => run.options.rotate_tokens || agent.board_id === null;
      const present = await addMissingEntries(host, rows.filter(isCreated), known_entries ?? (await listEntries(host)));
      const subjects = new Map(rows.map((subject) => [subject.agent.id, subject]));
      await forEachConcurrent(claimed, { max_concurrent: AGENT_CONCURRENCY, shouldStop }, (target) =>
        processTarget(target, subjects.get(target.agent.id), present),
      );
    } else await pause(POLL_MS);
    const others = pending.filter(({ job_id }) => !ids.has(job_id));
    if (others.length === 0) return [];
    if (results.length > 0 && !shouldStop()) await record(results.splice(0));
    const waiting = await listWaitingAgentIds(ctx, run.id);
    for (const target of others) if (!waiting.has(target.run_agent_id)) remaining.delete(target);
    return others.filter((target) => remaining.has(target));
  }

  async function processAll(): Promise<void> {
    let known_entries: readonly HostEntry[] | null = entries;
    let pending: SyncTarget[] = targets;
    try {
      // After the first pass the entries may be outdated, so each later pass lists them again.
      for (; pending.length > 0 && !shouldStop(); known_entries = null) pending = await claimAndProcess(pending, known_entries);
    } catch (error) {
      if (!(error instanceof GatewayError) || signal.aborted) throw error;
      unreachable.set(pending[0]!, error);
    }
  }

  await untilAborted(processAll(), signal);
  const failed_target = targets.find((target) => unreachable.has(target));
  const error = failed_target ? unreachable.get(failed_target)! : null;
  if (failed_target && error) addResult(failed_target, toFailedOutcome(toGatewayMessage(error)));
  return {
    results,
    in_progress: [...remaining].filter((target) => in_progress.has(target)),
    not_started: [...remaining].filter((target) => !in_progress.has(target)),
    unreachable: error,
  };
}

/**
 * Returns whether concurrent writers changed the host's configuration first or undid the service's change, so that another
 * attempt can succeed.
 */
const isTemporaryConflict = ({ failure: { retryable, code } }: GatewayError): boolean =>
  retryable === true && (code ?? null) === null;
