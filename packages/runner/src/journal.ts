import { closeSync, existsSync, fsyncSync, ftruncateSync, mkdirSync, openSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { readFrom, writeAt } from "./line-file.ts";
import type { ProcessIdentity } from "./process-identity.ts";
import type { Step, UsageEntry } from "./step.ts";

/** The facts about a run, which are the first line of its journal. */
export interface RunFacts {
  run_id: string;
  url: string;
  agent_id: string;
  board_id: string;
  task_id: string;
  fence: number;
  started_at: string;
}

export interface RunLink {
  kind: "branch" | "commit" | "pull_request" | "url";
  url: string;
  title?: string;
}

/**
 * How a run ends. It is stored in the journal before the first request, so that the next start can send what the service still has
 * to learn.
 */
export interface RunEnding {
  /** The idempotency key of the comment, so that posting the comment again adds no second comment. */
  key: string;
  comment: string | null;
  /** The status to which the task moves, `release` to give it back, or null to leave it as it is. */
  move: "review" | "blocked" | "release" | null;
  links: RunLink[];
  reason: string | null;
  /** What the run has used. A step has reported the same usage under the same key, so it is counted once. */
  usage?: (UsageEntry & { key: string }) | null;
}

export type JournalLine =
  | { line: "run"; facts: RunFacts }
  | { line: "folder"; path: string; branch: string | null }
  | { line: "process"; leader: ProcessIdentity }
  | { line: "step"; n: number; step: Step }
  | { line: "sent"; next: number }
  | { line: "end"; ending: RunEnding };

export interface Journal {
  readonly file: string;
  readonly facts: RunFacts;
  /** Number of steps that were written to the journal. */
  readonly steps: number;
  /** Number of steps that the service has received. */
  readonly sent: number;
  readonly lines: readonly Exclude<JournalLine, { line: "step" | "sent" }>[];
  addStep(step: Step): void;
  add(line: Exclude<JournalLine, { line: "step" | "sent" }>): void;
  /** Reads steps from number `from` on: at most `max` steps and about `max_bytes`. */
  readSteps(from: number, max: number, max_bytes: number): Step[];
  noteSent(next: number): void;
  flush(): void;
  close(): void;
  /** Deletes the file once everything in it was sent. */
  remove(): void;
}

const FSYNC_MS = 1_000;
/** Limits of a run. The service refuses more than this. */
const MAX_STEPS = 100_000;
const MAX_BYTES = 50 * 1024 * 1024;
/** The offset of every hundredth step is kept in memory, so that reading can begin there. */
const INDEX_EVERY = 100;

export const journalFile = (folder: string, run_id: string): string => path.join(folder, `${run_id}.jsonl`);

export function listJournals(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => path.join(folder, name));
}

export function createJournal(folder: string, facts: RunFacts): Journal {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = journalFile(folder, facts.run_id);
  const journal = openFile(openSync(file, existsSync(file) ? "r+" : "w+", 0o600), file, facts);
  try {
    if (journal.lines.length === 0) journal.add({ line: "run", facts });
    return journal;
  } catch (error) {
    journal.remove();
    throw error;
  }
}

/** Reads to which run a journal belongs. Returns null if its first line does not name a run, and throws if it cannot be read. */
export function readFacts(file: string): RunFacts | null {
  const descriptor = openSync(file, "r");
  try {
    const [first] = readFrom(descriptor, 0);
    return toFacts(first?.text ?? "null");
  } finally {
    closeSync(descriptor);
  }
}

function toFacts(text: string): RunFacts | null {
  try {
    const line = JSON.parse(text) as JournalLine | null;
    return line?.line === "run" ? line.facts : null;
  } catch {
    return null;
  }
}

/** Opens the journal of an earlier process. */
export const reopenJournal = (file: string, facts: RunFacts): Journal => openFile(openSync(file, "r+"), file, facts);

function openFile(descriptor: number, file: string, facts: RunFacts): Journal {
  const lines: Exclude<JournalLine, { line: "step" | "sent" }>[] = [];
  /** Offsets of the steps 0, 100, 200, … in the file. */
  const index: number[] = [];
  let steps = 0;
  let sent = 0;
  let size = 0;
  let stepBytes = 0;
  let isDirty = false;

  const note = (line: JournalLine, offset: number, length: number) => {
    if (line.line === "step") {
      if (line.n % INDEX_EVERY === 0) index[line.n / INDEX_EVERY] = offset;
      steps = line.n + 1;
      stepBytes += length;
    } else if (line.line === "sent") sent = line.next;
    else lines.push(line);
  };
  // A line without its end was being written when the process was killed. It is removed, because no part of it was sent.
  for (const { text, offset, length } of readFrom(descriptor, 0)) {
    try {
      note(JSON.parse(text) as JournalLine, offset, length);
    } catch {
      break;
    }
    size = offset + length;
  }
  ftruncateSync(descriptor, size);

  const write = (line: JournalLine) => {
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    // If this fails, the next line is written over the part of this line that is in the file.
    writeAt(descriptor, bytes, size);
    note(line, size, bytes.length);
    size += bytes.length;
    isDirty = true;
  };
  const flush = () => {
    if (!isDirty) return;
    isDirty = false;
    fsyncSync(descriptor);
  };
  const timer = setInterval(() => {
    try {
      flush();
    } catch {
      // A disk that fails also refuses the next line, so `add` throws too.
    }
  }, FSYNC_MS);
  timer.unref();
  let isFull = false;

  return {
    file,
    facts,
    lines,
    get steps() {
      return steps;
    },
    get sent() {
      return sent;
    },
    addStep(step) {
      if (isFull) return;
      isFull = steps >= MAX_STEPS - 1 || stepBytes >= MAX_BYTES;
      const text = "The run is full: further steps are not kept.";
      write({ line: "step", n: steps, step: isFull ? { at: step.at, kind: "log", stream: "runner", text } : step });
    },
    add(line) {
      write(line);
      flush();
    },
    readSteps(from, max, max_bytes) {
      if (from >= steps) return [];
      const found: Step[] = [];
      const begin = Math.floor(from / INDEX_EVERY);
      let bytes = 0;
      for (const { text, length } of readFrom(descriptor, index[begin] ?? 0, size)) {
        if (!text.startsWith('{"line":"step"')) continue;
        const line = JSON.parse(text) as Extract<JournalLine, { line: "step" }>;
        if (line.n < from) continue;
        bytes += length;
        if (found.length > 0 && bytes > max_bytes) break;
        found.push(line.step);
        if (found.length >= max) break;
      }
      return found;
    },
    noteSent(next) {
      sent = next;
      try {
        write({ line: "sent", next });
      } catch {
        // Without this line, the next start sends these steps again, and the service knows their numbers.
      }
    },
    flush,
    close() {
      clearInterval(timer);
      try {
        flush();
      } finally {
        closeSync(descriptor);
      }
    },
    remove() {
      clearInterval(timer);
      closeSync(descriptor);
      rmSync(file, { force: true });
    },
  };
}
