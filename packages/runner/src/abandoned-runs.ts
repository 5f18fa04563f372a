import { existsSync, rmSync } from "node:fs";
import type { BoardService } from "./board-service.ts";
import { listJournals, type Journal, readFacts, reopenJournal, type RunEnding } from "./journal.ts";
import type { RunnerEvent } from "./options.ts";
import { takeOwnership } from "./owner-lock.ts";
import { endAbandonedGroup } from "./process-group.ts";
import { startStepSender } from "./step-sender.ts";
import { storeEnding, tellEnding } from "./run-ending.ts";

const GRACE_MS = 4_000;

interface Delivery {
  service: BoardService;
  agent_id: string;
  folder: string;
  /** The journals that could not be delivered. A message about each of them was printed. */
  undelivered: Set<string>;
  print: (event: RunnerEvent) => void;
  signal: AbortSignal;
}

/** Delivers what killed runners could not send: the steps of their runs, and how the runs ended. */
export async function deliverAbandonedRuns(delivery: Delivery): Promise<void> {
  for (const file of listJournals(delivery.folder)) {
    if (delivery.signal.aborted) return;
    try {
      await deliverFile(delivery, file);
    } catch (error) {
      if (delivery.signal.aborted || delivery.undelivered.has(file)) continue;
      delivery.undelivered.add(file);
      const text = `${file} stays, because this earlier run could not be delivered: ${(error as Error).message}`;
      delivery.print({ event: "warning", text });
    }
  }
}

async function deliverFile(delivery: Delivery, file: string): Promise<void> {
  const lock = takeOwnership(`${file}.lock`);
  if (!lock) return;
  try {
    // Another runner may have delivered and removed the journal after the folder was listed.
    if (!existsSync(file)) return;
    const facts = readFacts(file);
    // A file without a valid first line is from a process that was killed before its run began.
    if (!facts) rmSync(file, { force: true });
    // A run can only be delivered with the token of the agent that worked on it.
    else if (facts.url === delivery.service.url && facts.agent_id === delivery.agent_id)
      await deliver(delivery, reopenJournal(file, facts));
  } finally {
    lock.release();
  }
}

async function deliver({ service, print, signal }: Delivery, journal: Journal): Promise<void> {
  const { run_id, task_id } = journal.facts;
  let isDone = false;
  try {
    const leader = journal.lines.findLast((line) => line.line === "process")?.leader;
    if (leader) await endAbandonedGroup(leader, GRACE_MS);
    const known = journal.lines.findLast((line) => line.line === "end")?.ending;
    const ending = known ?? toAbandonedEnding(journal);
    if (!known) storeEnding(journal, ending, () => {});
    await startStepSender(journal, (from, steps) => service.sendSteps(run_id, from, steps)).finish(signal);
    await tellEnding(service, journal, ending, signal);
    isDone = true;
    print({ event: "delivered", text: "reported the end of a run that was cut off", task_id, run_id });
  } finally {
    if (isDone) journal.remove();
    else journal.close();
  }
}

/**
 * Returns the ending of a run that was cut off. If its lease still lasts, the task is released, so that another agent can take it
 * at once.
 */
function toAbandonedEnding(journal: Journal): RunEnding {
  const folder = journal.lines.findLast((line) => line.line === "folder");
  const where = folder?.branch ? ` The work so far is on the branch ${folder.branch}.` : "";
  const text = `The runner ended without notice, so the task is free again.${where}`;
  return { key: crypto.randomUUID(), comment: null, move: "release", links: [], reason: text };
}
