/**
 * The moments at which a process of the service can die, as they pass: loaded by the process of the tests before the
 * service's own code. Each statement to the database, each call to a gateway and each batch for the queue has two, one
 * before it leaves and one when its answer has arrived and nobody has seen it yet. At a chosen one the process kills itself.
 */
import { writeSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers/promises";
import pg from "pg";
import { WebSocket } from "ws";

/** The moment that a process does not survive: its number, or how its name begins; null for none. */
export type KillAt = number | string | null;

let passed = 0;
let deadly: KillAt = null;

/** Begins to count anew. */
export function countFrom(kill_at: KillAt): void {
  passed = 0;
  deadly = kill_at;
}

/** One such moment. What is said on standard error is read after the death. */
export function point(name: string): void {
  passed += 1;
  if (deadly === null || (typeof deadly === "number" ? passed !== deadly : !name.startsWith(deadly))) return;
  writeSync(2, `died ${name}\n`);
  process.kill(process.pid, "SIGKILL");
  // The signal is on its way to this thread; nothing more may happen in the meantime.
  for (;;);
}

type Callback = (error: unknown, result: unknown) => void;
type Query = (this: unknown, ...args: unknown[]) => unknown;

// oxlint-disable-next-line typescript/unbound-method -- called with its own
const query = pg.Client.prototype.query as unknown as Query;
(pg.Client.prototype as { query: Query }).query = function (...args) {
  const statement = nameOf(args[0]);
  const arrived = () => point(`database, after: ${statement}`);
  point(`database, before: ${statement}`);
  const callback = args.at(-1);
  if (typeof callback === "function") {
    const seen: Callback = (error, result) => {
      arrived();
      (callback as Callback)(error, result);
    };
    return query.call(this, ...args.slice(0, -1), seen);
  }
  return (query.call(this, ...args) as Promise<unknown>).finally(arrived);
};

function nameOf(statement: unknown): string {
  const text = typeof statement === "string" ? statement : (statement as { text: string }).text;
  return text.replaceAll(/\s+/g, " ").trim().slice(0, 60);
}

const methods = new Map<string, string>();
// oxlint-disable-next-line typescript/unbound-method -- called with its own
const send = WebSocket.prototype.send as (...args: unknown[]) => void;
WebSocket.prototype.send = function (this: WebSocket, ...args: unknown[]) {
  const { id, method } = JSON.parse(String(args[0])) as { id: string; method: string };
  methods.set(id, method);
  point(`gateway, before: ${method}`);
  send.apply(this, args);
} as typeof WebSocket.prototype.send;

// oxlint-disable-next-line typescript/unbound-method -- called with its own
const emit = WebSocket.prototype.emit as (...args: unknown[]) => boolean;
WebSocket.prototype.emit = function (this: WebSocket, ...args: unknown[]) {
  if (args[0] === "message") {
    const { type, id } = JSON.parse(String(args[1])) as { type: string; id: string };
    if (type === "res") point(`gateway, after: ${methods.get(id)}`);
  }
  return emit.apply(this, args);
} as typeof WebSocket.prototype.emit;

/** Hosts need their pauses; the stand-in for one does not. */
const FASTER = 50;
const pause = timers.setTimeout;
timers.setTimeout = ((ms: number, ...rest: [undefined, object]) => pause(ms / FASTER, ...rest)) as typeof pause;
syncBuiltinESMExports();
