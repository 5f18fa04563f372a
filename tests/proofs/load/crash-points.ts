/**
 * Counts the moments at which a process of the service can be killed; loaded before the service's code. Each statement,
 * call to a gateway and batch for the queue has two crash points: before it is sent, and when its answer has arrived but
 * was not read yet. The process kills itself at a chosen one.
 */
import { writeSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers/promises";
import pg from "pg";
import { WebSocket } from "ws";

/** Where a process kills itself: the number of the crash point or the beginning of its name; null for nowhere. */
export type KillAt = number | string | null;

let points_passed = 0;
let fatal_point: KillAt = null;

/** Restarts the count. */
export function setFatalPoint(kill_at: KillAt): void {
  points_passed = 0;
  fatal_point = kill_at;
}

/** Passes one crash point. The parent process reads standard error after the kill. */
export function crashPoint(name: string): void {
  points_passed += 1;
  if (fatal_point === null || (typeof fatal_point === "number" ? points_passed !== fatal_point : !name.startsWith(fatal_point)))
    return;
  writeSync(2, `died ${name}\n`);
  process.kill(process.pid, "SIGKILL");
  // The signal may arrive a little later, and nothing else may happen before it.
  for (;;);
}

type Callback = (error: unknown, result: unknown) => void;
type Query = (this: unknown, ...args: unknown[]) => unknown;

// oxlint-disable-next-line typescript/unbound-method -- called with its own
const query = pg.Client.prototype.query as unknown as Query;
(pg.Client.prototype as { query: Query }).query = function (...args) {
  const statements = textsOf(args[0]).map((text) => text.replaceAll(/\s+/g, " ").trim().slice(0, 60));
  const arrived = () => statements.forEach((statement) => crashPoint(`database, after: ${statement}`));
  for (const statement of statements) crashPoint(`database, before: ${statement}`);
  if (isGroup(args[0])) {
    interceptAnswer(args[0], arrived);
    return query.call(this, ...args);
  }
  const callback = args.at(-1);
  if (typeof callback === "function") {
    const intercepted: Callback = (error, result) => {
      arrived();
      (callback as Callback)(error, result);
    };
    return query.call(this, ...args.slice(0, -1), intercepted);
  }
  return (query.call(this, ...args) as Promise<unknown>).finally(arrived);
};

/** Statements that are sent together. */
interface Group extends Record<"handleReadyForQuery" | "handleError", (...args: unknown[]) => void> {
  texts: string[];
}

const isGroup = (statement: unknown): statement is Group =>
  typeof statement === "object" && statement !== null && "texts" in statement;

function textsOf(statement: unknown): string[] {
  if (isGroup(statement)) return statement.texts;
  return [typeof statement === "string" ? statement : (statement as { text: string }).text];
}

function interceptAnswer(group: Group, arrived: () => void): void {
  for (const name of ["handleReadyForQuery", "handleError"] as const) {
    const handle = group[name].bind(group);
    group[name] = (...args) => {
      arrived();
      handle(...args);
    };
  }
}

const methods = new Map<string, string>();
// oxlint-disable-next-line typescript/unbound-method -- called with its own
const send = WebSocket.prototype.send as (...args: unknown[]) => void;
WebSocket.prototype.send = function (this: WebSocket, ...args: unknown[]) {
  const { id, method } = JSON.parse(String(args[0])) as { id: string; method: string };
  methods.set(id, method);
  crashPoint(`gateway, before: ${method}`);
  send.apply(this, args);
} as typeof WebSocket.prototype.send;

// oxlint-disable-next-line typescript/unbound-method -- called with its own
const emit = WebSocket.prototype.emit as (...args: unknown[]) => boolean;
WebSocket.prototype.emit = function (this: WebSocket, ...args: unknown[]) {
  if (args[0] === "message") {
    const { type, id } = JSON.parse(String(args[1])) as { type: string; id: string };
    if (type === "res") crashPoint(`gateway, after: ${methods.get(id)}`);
  }
  return emit.apply(this, args);
} as typeof WebSocket.prototype.emit;

/** Shortens pauses, which real hosts need and the fake host does not. */
const FASTER = 50;
const pause = timers.setTimeout;
timers.setTimeout = ((ms: number, ...rest: [undefined, object]) => pause(ms / FASTER, ...rest)) as typeof pause;
syncBuiltinESMExports();
