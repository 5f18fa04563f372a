/** Processes of the service, kept ready: each takes orders until it dies or ends its work, and then the next ones. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { WakeUp } from "@board/core/job/job";
import { bundleFile } from "../bundle.ts";
import type { FromParent, Order, Refused, Start, ToParent } from "./service.ts";

/** The process is dead; `moment` is where it killed itself, null when somebody else did. */
export class Died extends Error {
  readonly moment: string | null;
  constructor(moment: string | null) {
    super(`The process died: ${moment ?? "killed from outside"}`);
    this.moment = moment;
  }
}

/** Takes wake-ups as a queue does; returns the ids that it refuses, and throws when it gives no answer. */
export type Take = (wakeUps: WakeUp[]) => { failed: string[] };

export interface Process {
  begin(start: Start, take: Take): Promise<void>;
  /** Rejects with Died, also when the process dies of something else meanwhile. */
  order(order: Exclude<Order, { do: "begin" }>): Promise<unknown>;
  /** What it has said of unexpected errors. */
  readonly errors: string[];
  kill(): void;
}

export interface Crew {
  /** One that has not begun yet. */
  take(): Promise<Process>;
  /** Gives one back that has ended its work. */
  release(process: Process): Promise<void>;
  close(): Promise<void>;
}

/** `spare` processes are kept ready beside those that are at work. */
export async function startCrew(spare: number): Promise<Crew> {
  const folder = mkdtempSync(path.join(tmpdir(), "board-crashes-"));
  // Bundled as on Lambda, which starts four times as fast as from the sources.
  await bundleFile("tests/support/crashes/service.ts", folder, { minify: false });
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
  let said = "";
  let numbers = 0;
  let dead: Died | null = null;
  let take: Take = () => ({ failed: [] });
  // An order to one that has just died is answered by its death.
  const tell = (message: FromParent) => void child.send(message, () => {});

  child.on("message", (message: ToParent) => {
    if ("ready" in message) return isReady.resolve();
    if ("send" in message) {
      return tell({ taken: message.send, failed: refused(take, message.wakeUps) });
    }
    const waiter = waiting.get(message.number);
    waiting.delete(message.number);
    if ("error" in message) waiter?.reject(new Error(message.error));
    else waiter?.resolve(message.value);
  });
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    said += text;
    errors.push(...text.split("\n").filter((line) => line.startsWith("error ")));
  });
  child.once("error", isReady.reject);
  child.once("close", (code, signal) => {
    dead = new Died(/^died (.*)$/m.exec(said)?.[1] ?? null);
    const cause = signal === "SIGKILL" ? dead : new Error(`The process ended with ${code ?? signal}:\n${said}`);
    isReady.reject(cause);
    for (const waiter of waiting.values()) waiter.reject(cause);
    waiting.clear();
  });

  const order = (wanted: Order): Promise<unknown> => {
    if (dead) return Promise.reject(dead);
    const waiter = Promise.withResolvers<unknown>();
    waiting.set(++numbers, waiter);
    tell({ number: numbers, order: wanted });
    return waiter.promise;
  };
  await isReady.promise;
  return {
    errors,
    order,
    async begin(start, queue) {
      take = queue;
      said = "";
      await order({ do: "begin", start });
    },
    kill: () => void child.kill("SIGKILL"),
  };
}

function refused(take: Take, wakeUps: WakeUp[]): Refused {
  try {
    return take(wakeUps).failed;
  } catch {
    return null;
  }
}
