/** A pool of ready processes of the service. A process executes commands until it dies or is returned to the pool. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { WakeUp } from "@board/core/job/relay";
import { bundleFile } from "../../support/bundle.ts";
import type { FromParent, Command, RefusedIds, StartOptions, ToParent } from "./service.ts";

/** A process died. `moment` is the crash point where it killed itself, or null when it was killed from outside. */
export class ProcessDied extends Error {
  readonly crash_point: string | null;
  constructor(moment: string | null) {
    super(`The process died: ${moment ?? "killed from outside"}`);
    this.crash_point = moment;
  }
}

/** Receives wake-ups like a queue. It returns the refused ids and throws to give no answer. */
export type TakeWakeUps = (wakeUps: WakeUp[]) => { failed: string[] };

export interface Process {
  begin(start: StartOptions, take: TakeWakeUps): Promise<void>;
  /** Sends a command. Rejects with ProcessDied when the process dies before it answers. */
  order(order: Exclude<Command, { do: "begin" }>): Promise<unknown>;
  /** The unexpected errors that it reported. */
  readonly errors: string[];
  kill(): void;
}

export interface ProcessPool {
  /** Takes a process that is ready. */
  take(): Promise<Process>;
  /** Returns a process that has finished. */
  release(process: Process): Promise<void>;
  close(): Promise<void>;
}

/** Keeps `spare` processes ready in addition to those in use. */
export async function startProcessPool(spare: number): Promise<ProcessPool> {
  const folder = mkdtempSync(path.join(tmpdir(), "board-crashes-"));
  // A bundle as on Lambda starts four times as fast as the sources.
  await bundleFile("tests/proofs/load/service.ts", folder, { minify: false });
  const living = new Set<ChildProcess>();
  const ready: Promise<Process>[] = [];
  const start = () => {
    const child = spawn(process.execPath, [path.join(folder, "bundle.mjs")], {
      env: { PATH: process.env["PATH"], TMPDIR: tmpdir(), NODE_COMPILE_CACHE: path.join(folder, "cache") },
      stdio: ["ignore", "inherit", "pipe", "ipc"],
    });
    living.add(child);
    child.once("close", () => living.delete(child));
    return toProcess(child);
  };
  const fill = () => {
    while (ready.length < spare) ready.push(start());
  };
  fill();
  return {
    async take() {
      const next = ready.shift() ?? start();
      fill();
      return next;
    },
    async release(one) {
      await one.order({ do: "end" });
      one.errors.length = 0;
      ready.unshift(Promise.resolve(one));
    },
    async close() {
      await Promise.allSettled(ready);
      const ends = [...living].map((child) => once(child, "close"));
      for (const child of living) child.kill("SIGKILL");
      await Promise.all(ends);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function toProcess(child: ChildProcess): Promise<Process> {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  const isReady = Promise.withResolvers<void>();
  const errors: string[] = [];
  let stderr = "";
  let numbers = 0;
  let dead: ProcessDied | null = null;
  let take: TakeWakeUps = () => ({ failed: [] });
  // A command to a process that just died is rejected by its exit.
  const sendToChild = (message: FromParent) => void child.send(message, () => {});

  child.on("message", (message: ToParent) => {
    if ("ready" in message) return isReady.resolve();
    if ("send" in message) {
      return sendToChild({ taken: message.send, failed: idsRefused(take, message.wakeUps) });
    }
    const waiter = waiting.get(message.number);
    waiting.delete(message.number);
    if ("error" in message) waiter?.reject(new Error(message.error));
    else waiter?.resolve(message.value);
  });
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    errors.push(...text.split("\n").filter((line) => line.startsWith("error ")));
  });
  child.once("error", isReady.reject);
  child.once("close", (code, signal) => {
    dead = new ProcessDied(/^died (.*)$/m.exec(stderr)?.[1] ?? null);
    const cause = signal === "SIGKILL" ? dead : new Error(`The process exited with ${code ?? signal}:\n${stderr}`);
    isReady.reject(cause);
    for (const waiter of waiting.values()) waiter.reject(cause);
    waiting.clear();
  });

  const order = (wanted: Command): Promise<unknown> => {
    if (dead) return Promise.reject(dead);
    const waiter = Promise.withResolvers<unknown>();
    waiting.set(++numbers, waiter);
    sendToChild({ number: numbers, order: wanted });
    return waiter.promise;
  };
  await isReady.promise;
  return {
    errors,
    order,
    async begin(start, queue) {
      take = queue;
      stderr = "";
      await order({ do: "begin", start });
    },
    kill: () => void child.kill("SIGKILL"),
  };
}

function idsRefused(take: TakeWakeUps, wakeUps: WakeUp[]): RefusedIds {
  try {
    return take(wakeUps).failed;
  } catch {
    return null;
  }
}
