/** Load on a balancer at a steady pace: reads, changes and entries of boards, and streams that follow the entries. */
import { setTimeout as pause } from "node:timers/promises";
import { openPullBoard, type PullBoard } from "../../support/pull-board.ts";
import type { World } from "../../support/world.ts";
import { type Receiver, startReceiver } from "../../support/receiver.ts";

const ORGANIZATIONS = 6;
/** How long a request is repeated after a cut connection or a refusal that names a time to wait. */
const REPEAT_MS = 120_000;
const PAUSE_MS = 100;
/** A balancer without a process answers 502, and a process that starts answers 503. */
const IS_CUT: ReadonlySet<number> = new Set([502, 503]);

export interface LoadResult {
  requests: number;
  /** Requests that were sent again, with the same key, because their connection was cut or no process was there. */
  repeated: number;
  /** Why they were sent again: the status, or that there was no answer or only a part of one. */
  reasons: Record<string, number>;
  /** Answers other than 200, by status, and requests that got none. */
  wrong: Record<string, number>;
  /** Entries whose request was answered. */
  entries: number;
  /** Entries that a stream never showed, over all streams. */
  missed: number;
  /** Entries that exist although no request wrote them: a repeated request was executed twice. */
  doubled: number;
  tasks: number;
  /** Created tasks that the subscription's receiver was never told about. */
  lost_deliveries: number;
  reconnects: number;
  p50_ms: number;
  p99_ms: number;
}

export interface Load {
  /** Ends the load and waits until everything has arrived, but not for ever. */
  stop(): Promise<LoadResult>;
}

interface LoadOptions {
  world: World;
  url: string;
  requests_per_second: number;
  streams: number;
}

interface Home extends PullBoard {
  task_id: string;
  written: Set<string>;
}

export async function startLoad({ world, url, requests_per_second, streams }: LoadOptions): Promise<Load> {
  const receiver = await startReceiver();
  const homes = await Promise.all(Array.from({ length: ORGANIZATIONS }, (_, n) => openHome(world, receiver, n)));
  const stopping = new AbortController();
  const followers = Array.from({ length: streams }, (_, n) => follow(url, homes[n % homes.length]!, stopping.signal));
  await Promise.all(followers.map(({ opened }) => opened));
  const wrong: Record<string, number> = {};
  const reasons: Record<string, number> = {};
  const count = (counts: Record<string, number>, name: string) => void (counts[name] = (counts[name] ?? 0) + 1);
  const durations: number[] = [];
  const created: string[] = [];
  const running = new Set<Promise<void>>();
  let [sent, repeated, isStopped] = [0, 0, false];

  async function request(home: Home, method: string, path: string, body?: object): Promise<Record<string, unknown> | null> {
    const start = performance.now();
    const headers = {
      authorization: `Bearer ${home.owner.token}`,
      ...(body ? { "content-type": "application/json" } : {}),
      ...(method === "POST" ? { "idempotency-key": crypto.randomUUID() } : {}),
    };
    for (;;) {
      const answer = await fetch(url + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) }).catch(
        () => null,
      );
      const text = await answer?.text().catch(() => null);
      if (answer?.status === 200 && typeof text === "string") {
        durations.push(performance.now() - start);
        return JSON.parse(text) as Record<string, unknown>;
      }
      const isCut = !answer || typeof text !== "string" || IS_CUT.has(answer.status);
      if (!isCut || performance.now() - start > REPEAT_MS) {
        count(wrong, String(answer?.status ?? "no answer"));
        return null;
      }
      count(reasons, !answer ? "no answer" : typeof text === "string" ? `${answer.status} ${text.slice(0, 80)}` : "cut answer");
      repeated++;
      await pause(PAUSE_MS);
    }
  }

  async function work(number: number): Promise<void> {
    const home = homes[number % homes.length]!;
    const board = `/api/v1/boards/${home.board_id}`;
    const kind = Math.floor(number / homes.length) % 10;
    if (kind === 0) {
      const content = `entry ${number}`;
      // An entry whose request got no answer is counted as a wrong answer, not as a missed entry.
      if (await request(home, "POST", `${board}/memory`, { content })) home.written.add(content);
    } else if (kind === 1) {
      const task = await request(home, "POST", `${board}/tasks`, { title: `Task ${number}` });
      if (task) created.push(task["id"] as string);
    } else if (kind <= 3) await request(home, "PATCH", `${board}/tasks/${home.task_id}`, { title: `Title ${number}` });
    else if (kind <= 6) await request(home, "GET", `${board}/tasks/${home.task_id}`);
    else await request(home, "GET", `${board}/tasks?limit=20`);
  }

  /** Work starts on time even if earlier work is not done. */
  async function drive(): Promise<void> {
    const begin = performance.now();
    while (!isStopped) {
      const due = Math.floor(((performance.now() - begin) / 1_000) * requests_per_second);
      for (; sent < due; sent++) {
        const piece = work(sent);
        running.add(piece);
        void piece.finally(() => running.delete(piece));
      }
      await pause(5);
    }
  }
  const driving = drive();

  return {
    async stop() {
      isStopped = true;
      await driving;
      await Promise.all(running);
      const heard = () => new Set(receiver.messages.map(({ json }) => json.data.subject.id as string));
      const missing = () => followers.reduce((sum, { home, seen }) => sum + home.written.difference(seen).size, 0);
      const lost = () => created.filter((id) => !heard().has(id)).length;
      const deadline = performance.now() + 120_000;
      while ((missing() > 0 || lost() > 0) && performance.now() < deadline) await pause(500);
      const result = {
        requests: sent,
        repeated,
        reasons,
        wrong,
        entries: homes.reduce((sum, { written }) => sum + written.size, 0),
        missed: missing(),
        doubled: await countDoubled(url, homes),
        tasks: created.length,
        lost_deliveries: lost(),
        reconnects: followers.reduce((sum, { reconnects }) => sum + reconnects(), 0),
        p50_ms: percentile(durations, 0.5),
        p99_ms: percentile(durations, 0.99),
      };
      stopping.abort();
      await Promise.all(followers.map(({ ended }) => ended));
      await receiver.close();
      return result;
    },
  };
}

async function openHome(world: World, receiver: Receiver, number: number): Promise<Home> {
  const home = await openPullBoard(world, `load ${number} ${crypto.randomUUID()}`);
  const task_id = await home.addTask();
  const body = { url: receiver.url, event_types: ["task.created"] };
  const made = await home.call("POST", "/api/v1/subscriptions", home.owner.token, body);
  if (made.status !== 200) throw new Error(`The subscription was refused: ${made.text}`);
  return { ...home, task_id, written: new Set() };
}

/** A client of a stream that reconnects at its last id, as EventSource does, until it is aborted. */
function follow(url: string, home: Home, signal: AbortSignal) {
  const seen = new Set<string>();
  const opened = Promise.withResolvers<void>();
  let [last, connections] = ["", 0];
  async function read(): Promise<void> {
    const headers = { authorization: `Bearer ${home.owner.token}`, ...(last ? { "last-event-id": last } : {}) };
    const response = await fetch(`${url}/api/v1/boards/${home.board_id}/memory/stream`, { headers, signal });
    if (response.status !== 200) throw new Error(`The stream got ${response.status}`);
    connections++;
    opened.resolve();
    const decoder = new TextDecoder();
    let text = "";
    for await (const part of response.body!) {
      text += decoder.decode(part as Uint8Array, { stream: true });
      const frames = text.split("\n\n");
      text = frames.pop()!;
      for (const frame of frames) {
        last = /^id: (.*)$/m.exec(frame)?.[1] ?? last;
        const data = /^data: (.*)$/m.exec(frame)?.[1];
        if (data) seen.add((JSON.parse(data) as { memory: { content: string } }).memory.content);
      }
    }
  }
  const run = async () => {
    while (!signal.aborted) {
      // A cut stream is opened again; a client without a position would begin at the present and so miss entries.
      await read().catch(() => {});
      if (!signal.aborted) await pause(PAUSE_MS);
    }
  };
  return { home, seen, opened: opened.promise, ended: run(), reconnects: () => Math.max(0, connections - 1) };
}

/** Reads all entries of the boards, and counts those that exist more than once. */
async function countDoubled(url: string, homes: readonly Home[]): Promise<number> {
  let doubled = 0;
  for (const { board_id, owner, written } of homes) {
    const headers = { authorization: `Bearer ${owner.token}` };
    const contents: string[] = [];
    for (let offset = 0; ; offset += 200) {
      const answer = await fetch(`${url}/api/v1/boards/${board_id}/memory?limit=200&offset=${offset}`, { headers });
      const { items } = (await answer.json()) as { items: { content: string }[] };
      contents.push(...items.map(({ content }) => content));
      if (items.length < 200) break;
    }
    doubled += contents.length - new Set(contents).size + written.difference(new Set(contents)).size;
  }
  return doubled;
}

/** The figures for the summary of a proof. */
export const toFigures = ({ wrong, reasons, ...figures }: LoadResult): Record<string, string | number> => ({
  ...figures,
  reasons: JSON.stringify(reasons),
  wrong: JSON.stringify(wrong),
});

export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0);
}
