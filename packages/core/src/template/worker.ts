import { setTimeout as pause } from "node:timers/promises";
import type { Context } from "../context.ts";
import { GatewayError } from "../gateway/client.ts";
import { type HostEntry, listEntries } from "../gateway/entries.ts";
import { toGatewayMessage } from "../gateway/failure.ts";
import { isUnreached } from "../gateway/reach.ts";
import type { GatewayRow } from "../gateway/target.ts";
import { takeJobs } from "../job/batch.ts";
import { readSubjects, type TemplateSubject } from "./context.ts";
import { inParallel, unlessAborted } from "./patience.ts";
import type { Prepared } from "./prepare.ts";
import type { RunRow } from "./run.ts";
import type { SyncTarget } from "./selection.ts";
import { failure, findWaiting, GONE, type Outcome, type Settlement, toSettlement } from "./settle.ts";
import { syncAgent } from "./sync-agent.ts";

/**
 * Agents at a time. Their calls share one socket without waiting for one another; more would only fill the host's buffers,
 * as it answers each file with its content.
 */
const AGENTS_AT_A_TIME = 32;
/** Between two looks whether others are done with an agent. */
export const POLL_MS = 200;

/** What a worker got done, and what it leaves to others. */
export interface WorkEnd {
  settled: Settlement[];
  /** Was begun, and may still be worked on. */
  unfinished: SyncTarget[];
  /** Was not begun, or gave way to others who write to the host's configuration. */
  left: SyncTarget[];
  /** The host is away for longer than it is waited for; `settled` has the agent that was at hand. */
  unreached: GatewayError | null;
}

/**
 * Works on the agents of a run in this process, over one socket, until all are settled, the signal aborts or the host is
 * away for too long. Agents that others work with at the moment are waited for.
 */
export async function workOff(
  ctx: Context,
  { gateway, run, prepared }: { gateway: GatewayRow; run: RunRow; prepared: Prepared },
  signal: AbortSignal,
): Promise<WorkEnd> {
  const { host, entries, below_minimum, targets } = prepared;
  const open = new Set(targets);
  const at_work = new Set<SyncTarget>();
  const settled: Settlement[] = [];
  const unreached = new Map<SyncTarget, GatewayError>();
  const isOver = () => signal.aborted || unreached.size > 0;

  function settle(target: SyncTarget, outcome: Outcome, subject?: TemplateSubject): void {
    open.delete(target);
    settled.push(toSettlement(target.run_agent_id, outcome, subject));
  }

  async function work(target: SyncTarget, subject: TemplateSubject | undefined, present: readonly HostEntry[]): Promise<void> {
    if (!subject) return settle(target, failure(GONE));
    at_work.add(target);
    const { token, first } = target;
    try {
      const outcome = await syncAgent(ctx, host, subject, { query: run.options, token, first, present, below_minimum });
      // What comes too late is left to whoever is told to do it then.
      if (!signal.aborted) settle(target, outcome, subject);
    } catch (error) {
      if (!(error instanceof GatewayError) || signal.aborted) throw error;
      if (isUnreached(error)) unreached.set(target, error);
      else if (!mayPass(error)) settle(target, failure(toGatewayMessage(error)), subject);
      at_work.delete(target);
    }
  }

  /** Takes what is free and works on it; returns what others are at. */
  async function workOnFree(wanted: readonly SyncTarget[], known: readonly HostEntry[] | null): Promise<SyncTarget[]> {
    const ids = new Set(
      await takeJobs(
        ctx,
        wanted.map(({ job_id }) => job_id),
      ),
    );
    const taken = wanted.filter(({ job_id }) => ids.has(job_id));
    if (taken.length > 0) {
      const present = known ?? (await listEntries(host));
      const found = await readSubjects(
        ctx,
        gateway,
        taken.map(({ agent }) => agent.id),
        run.options.user_id,
      );
      const subjects = new Map(found.map((subject) => [subject.agent.id, subject]));
      await inParallel(taken, { at_a_time: AGENTS_AT_A_TIME, isOver }, (target) =>
        work(target, subjects.get(target.agent.id), present),
      );
    } else await pause(POLL_MS);
    const others = wanted.filter(({ job_id }) => !ids.has(job_id));
    if (others.length === 0) return [];
    const waiting = await findWaiting(ctx, run.id);
    for (const target of others) if (!waiting.has(target.run_agent_id)) open.delete(target);
    return others.filter((target) => open.has(target));
  }

  async function workOnAll(): Promise<void> {
    let known: readonly HostEntry[] | null = entries;
    let wanted: SyncTarget[] = targets;
    try {
      for (; wanted.length > 0 && !isOver(); known = null) wanted = await workOnFree(wanted, known);
    } catch (error) {
      if (!(error instanceof GatewayError) || signal.aborted) throw error;
      unreached.set(wanted[0]!, error);
    }
  }

  await unlessAborted(workOnAll(), signal);
  const at_hand = targets.find((target) => unreached.has(target));
  const error = at_hand ? unreached.get(at_hand)! : null;
  if (at_hand && error) settle(at_hand, failure(toGatewayMessage(error)));
  return {
    settled,
    unfinished: [...open].filter((target) => at_work.has(target)),
    left: [...open].filter((target) => !at_work.has(target)),
    unreached: error,
  };
}

/** Others have been writing to the host's configuration, or have undone what was written: a matter of time. */
const mayPass = ({ failure: { retryable, code } }: GatewayError): boolean => retryable === true && (code ?? null) === null;
