/** The ordinary work of an organization at a steady pace, measured from outside. */
import { createHmac } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { FakeGateway } from "../../support/fake-gateway/server.ts";
import { createArrivals, readTasks, type Sample, type ShownTask, toSample } from "./arrivals.ts";
import { createSender, type Tenant } from "./tenants.ts";

export interface WorkTarget {
  url: string;
  tenant: Tenant;
  host: FakeGateway;
}

export interface OrdinaryWork {
  readonly samples: Sample[];
  /** Ids of the payloads that were accepted. */
  readonly accepted: string[];
  /** Texts of the accepted comments. */
  readonly comments: string[];
  /** Starts no more work, and waits until the started work is done. It waits at most this long for deliveries and events. */
  stop(wait_ms?: number): Promise<void>;
}

const TASKS = 10;
/** The maximum wait for the answer to a request, and at the end for deliveries and events. */
const LONGEST_WAIT_MS = 15_000;
/**
 * Pauses in milliseconds. Work starts at this pace even if earlier work is not done, so a stall delays everything that starts
 * during it.
 */
const EVERY_MS = { list: 200, patch: 250, comment: 500, heartbeat: 300, post: 400, open_stream: 1_000 };

/** Creates the tasks to work on, once for each database. */
export async function createTasks(url: string, { token, board_id }: Tenant): Promise<string[]> {
  const send = createSender(url, token);
  const ids: string[] = [];
  for (let n = 0; n < TASKS; n++)
    ids.push((await send("POST", `/api/v1/boards/${board_id}/tasks`, { title: `Task ${n}` }))["id"]!);
  return ids;
}

export async function startWork({ url, tenant, host }: WorkTarget, task_ids: readonly string[]): Promise<OrdinaryWork> {
  const samples: Sample[] = [];
  const running = new Set<Promise<unknown>>();
  const timers: NodeJS.Timeout[] = [];
  const board = `/api/v1/boards/${tenant.board_id}`;
  const user = { authorization: `Bearer ${tenant.token}` };
  const closing = new AbortController();
  /** A repeated title would change nothing, and so would cause no event. */
  const label = Date.now().toString(36);
  let count = 0;

  /** Resolves with the answer's text, or with null unless the request succeeds. */
  async function request(kind: string, path: string, init: RequestInit): Promise<string | null> {
    const start = performance.now();
    const add = (status: Sample["status"]) => void samples.push(toSample(kind, start, performance.now(), status));
    try {
      const answer = await fetch(url + path, { ...init, signal: AbortSignal.timeout(LONGEST_WAIT_MS) });
      const text = await answer.text();
      add(statusOf(answer));
      return answer.ok ? text : null;
    } catch {
      add("no answer");
      return null;
    }
  }

  const arrivals = createArrivals(samples);
  const offMessages = host.onMessage(({ message }) => arrivals.arrive("delivery", /^Payload ID: (\S+)$/m.exec(message)?.[1]));
  const json = (method: string, body: object, headers: Record<string, string> = user) => ({
    method,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

  const work: OrdinaryWork = {
    samples,
    accepted: [],
    comments: [],
    async stop(wait_ms = LONGEST_WAIT_MS) {
      timers.forEach((timer) => clearInterval(timer));
      await Promise.all(running);
      await arrivals.finish(wait_ms);
      closing.abort();
      offMessages();
    },
  };

  const steps: Record<keyof typeof EVERY_MS, () => Promise<unknown>> = {
    list: () => request("list", "/api/v1/boards", { headers: user }),
    heartbeat: () =>
      request("heartbeat", "/api/v1/agent/heartbeat", { method: "POST", headers: { "x-agent-token": tenant.lead.token } }),
    async patch() {
      const id = task_ids[count % task_ids.length]!;
      const title = `Title ${label} ${++count}`;
      const start = performance.now();
      const text = await request("patch", `${board}/tasks/${id}`, json("PATCH", { title }));
      if (text === null) return;
      // A later change of the same task may replace this event, because a stream shows the task's current state.
      arrivals.expect("event", `${id} ${(JSON.parse(text) as { updated_at: string }).updated_at}`, start);
    },
    async comment() {
      const message = `Comment ${label} ${++count}`;
      const path = `${board}/tasks/${task_ids[count % task_ids.length]}/comments`;
      if ((await request("comment", path, json("POST", { message }))) !== null) work.comments.push(message);
    },
    async post() {
      const body = JSON.stringify({ post: ++count });
      const signature = createHmac("sha256", tenant.signed.secret).update(body).digest("hex");
      const headers = { "content-type": "application/json", "x-hub-signature-256": `sha256=${signature}` };
      const start = performance.now();
      const text = await request("post", tenant.signed.path, { method: "POST", headers, body });
      if (text === null) return;
      const { payload_id } = JSON.parse(text) as { payload_id: string };
      work.accepted.push(payload_id);
      arrivals.expect("delivery", payload_id, start);
    },
    async open_stream() {
      const start = performance.now();
      const ends = new AbortController();
      const late = setTimeout(() => ends.abort(), LONGEST_WAIT_MS);
      try {
        const answer = await fetch(`${url}${board}/approvals/stream`, { headers: user, signal: ends.signal });
        samples.push(toSample("open stream", start, performance.now(), statusOf(answer)));
      } catch {
        samples.push(toSample("open stream", start, performance.now(), "no answer"));
      } finally {
        clearTimeout(late);
        ends.abort();
      }
    },
  };

  const opened = Promise.withResolvers<void>();
  const position = { last_id: "" };
  const follow = async () => {
    while (!closing.signal.aborted) {
      const headers = { ...user, ...(position.last_id ? { "last-event-id": position.last_id } : {}) };
      const answer = await fetch(`${url}${board}/tasks/stream`, { headers, signal: closing.signal }).catch(() => null);
      if (answer?.ok) opened.resolve();
      const onTask = ({ id, updated_at }: ShownTask) => arrivals.arriveUntil("event", id, updated_at);
      if (answer?.ok && answer.body) await readTasks(answer.body, position, onTask).catch(() => {});
      await pause(100);
    }
  };
  void follow();
  await opened.promise;

  for (const [name, step] of Object.entries(steps)) {
    const start = () => {
      const one = step().finally(() => running.delete(one));
      running.add(one);
    };
    timers.push(setInterval(start, EVERY_MS[name as keyof typeof EVERY_MS]));
  }
  return work;
}

const statusOf = ({ status, headers }: Response) =>
  status === 503 && !headers.has("retry-after") ? "503 without Retry-After" : status;
