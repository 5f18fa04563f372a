/** The part that sends reads, changes and entries of boards at a steady pace. */
import { setTimeout as pause } from "node:timers/promises";
import { send } from "./http-client.ts";
import { serveAsPart } from "./part.ts";

export interface RequestsStart {
  url: string;
  requests_per_second: number;
  homes: Home[];
}

/** What a part needs to know of an organization. */
export interface Home {
  token: string;
  board_id: string;
  task_id: string;
}

/** How long a request is repeated after a cut connection or a refusal that names a time to wait. */
const REPEAT_MS = 120_000;
const PAUSE_MS = 100;
/** A balancer without a process answers 502, and a process that starts answers 503. */
const IS_CUT: ReadonlySet<number> = new Set([502, 503]);

const wrong: Record<string, number> = {};
const reasons: Record<string, number> = {};
const durations: number[] = [];
const created: string[] = [];
/** The entries of each home whose request was answered. */
const written: string[][] = [];
const running = new Set<Promise<void>>();
let [sent, repeated, isStopped] = [0, 0, false];
let driving = Promise.resolve();
const count = (counts: Record<string, number>, name: string) => void (counts[name] = (counts[name] ?? 0) + 1);

async function request(url: string, token: string, method: string, body?: object): Promise<Record<string, unknown> | null> {
  const start = performance.now();
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body ? { "content-type": "application/json" } : {}),
    ...(method === "POST" ? { "idempotency-key": crypto.randomUUID() } : {}),
  };
  for (;;) {
    const answer = await send(url, { method, headers, body: body && JSON.stringify(body) });
    if (answer?.status === 200) {
      durations.push(performance.now() - start);
      return JSON.parse(answer.text) as Record<string, unknown>;
    }
    const isCut = answer === null || IS_CUT.has(answer.status);
    if (!isCut || performance.now() - start > REPEAT_MS) {
      count(wrong, String(answer?.status ?? "no answer"));
      return null;
    }
    count(reasons, answer ? `${answer.status} ${answer.text.slice(0, 80)}` : "no whole answer");
    repeated++;
    await pause(PAUSE_MS);
  }
}

async function work({ url, homes }: RequestsStart, number: number): Promise<void> {
  const at = number % homes.length;
  const { token, board_id, task_id } = homes[at]!;
  const board = `${url}/api/v1/boards/${board_id}`;
  const kind = Math.floor(number / homes.length) % 10;
  if (kind === 0) {
    const content = `entry ${number}`;
    // An entry whose request got no answer is counted as a wrong answer, not as a missed entry.
    if (await request(`${board}/memory`, token, "POST", { content })) written[at]!.push(content);
  } else if (kind === 1) {
    const task = await request(`${board}/tasks`, token, "POST", { title: `Task ${number}` });
    if (task) created.push(task["id"] as string);
  } else if (kind <= 3) await request(`${board}/tasks/${task_id}`, token, "PATCH", { title: `Title ${number}` });
  else if (kind <= 6) await request(`${board}/tasks/${task_id}`, token, "GET");
  else await request(`${board}/tasks?limit=20`, token, "GET");
}

/** Sends requests at a steady rate, even if earlier requests have no answer yet. */
async function drive(start: RequestsStart): Promise<void> {
  const begin = performance.now();
  while (!isStopped) {
    const due = Math.floor(((performance.now() - begin) / 1_000) * start.requests_per_second);
    for (; sent < due; sent++) {
      const piece = work(start, sent);
      running.add(piece);
      void piece.finally(() => running.delete(piece));
    }
    await pause(5);
  }
}

const methods = {
  begin(start: RequestsStart) {
    written.push(...start.homes.map(() => []));
    driving = drive(start);
  },
  /** Ends the load and waits for all answers. */
  async end() {
    isStopped = true;
    await driving;
    await Promise.all(running);
    return { requests: sent, repeated, reasons, wrong, durations, created, written };
  },
};

export type RequestsMethods = typeof methods;

serveAsPart(methods);
