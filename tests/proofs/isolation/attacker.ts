/**
 * The process of organization A during an attack. It is a separate process, so that its work does not slow the
 * measurement of organization B. It runs until it is killed and reports what the service answered.
 */
import { setTimeout as pause } from "node:timers/promises";
import { createRandom, type Random } from "../load/random.ts";
import { attacks } from "./attacks/all.ts";
import type { Tenant } from "../load/tenants.ts";

export interface AttackStart {
  name: string;
  seed: number;
  url: string;
  /** A's own organization. */
  own: Tenant;
  /** Addresses of B that are public: anybody may know where its webhooks are. */
  victim: { signed_path: string; open_path: string };
  /** More tokens of the same person. */
  fresh_tokens: string[];
  /** Sources of skill packs that the code host serves. */
  pack_urls: string[];
}

/** The number of answers by status. `cut` is a connection that ended without an answer. */
export type Tally = Record<string, number>;

export interface Attacker extends AttackStart {
  random: Random;
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
  /** Creates something and returns its id. Waits and tries again while the service refuses. */
  create(path: string, body: object): Promise<string>;
  /** Counts an answer that `call` did not see. */
  count(status: number | string): void;
  /** Repeats work for ever, in `parallel` loops. */
  forever(parallel: number, work: (n: number) => Promise<unknown>): Promise<never>;
}

export interface CallOptions {
  body?: unknown;
  raw?: string;
  headers?: Record<string, string>;
  agent?: string;
  /** The token to use instead of the person's first one. */
  token?: string;
  /** Sends no credential. */
  anonymous?: boolean;
}

export interface Reply {
  status: number;
  text: string;
}

export type Attack = (attacker: Attacker) => Promise<unknown>;

const REPORT_MS = 100;
const REFUSED_PAUSE_MS = 20;

function createAttacker(start: AttackStart, tally: Tally): Attacker {
  const count = (status: number | string) => void (tally[status] = (tally[status] ?? 0) + 1);
  let numbers = 0;
  const attacker: Attacker = {
    ...start,
    random: createRandom(start.seed),
    count,
    async call(method, path, { body, raw, headers = {}, agent, token = start.own.token, anonymous } = {}) {
      const credential: Record<string, string> = agent
        ? { "x-agent-token": agent }
        : anonymous
          ? {}
          : { authorization: `Bearer ${token}` };
      const text = raw ?? (body === undefined ? undefined : JSON.stringify(body));
      const type: Record<string, string> = text === undefined ? {} : { "content-type": "application/json" };
      try {
        const init = { method, headers: { ...type, ...credential, ...headers }, ...(text === undefined ? {} : { body: text }) };
        const answer = await fetch(start.url + path, init);
        const reply = { status: answer.status, text: await answer.text() };
        count(reply.status);
        return reply;
      } catch {
        count("cut");
        return { status: 0, text: "" };
      }
    },
    async create(path, body) {
      for (;;) {
        const { status, text } = await attacker.call("POST", path, { body });
        if (status === 200) return (JSON.parse(text) as { id: string }).id;
        await pause(REFUSED_PAUSE_MS);
      }
    },
    async forever(parallel, work) {
      const loop = async () => {
        for (;;) {
          await work(numbers++);
          // Work that fails at once must not keep this process from reporting.
          await pause(0);
        }
      };
      return Promise.all(Array.from({ length: parallel }, loop)) as Promise<never>;
    },
  };
  return attacker;
}

process.once("message", (start: AttackStart) => {
  const tally: Tally = {};
  const report = () => void process.send!(tally);
  setInterval(report, REPORT_MS);
  attacks[start.name]!.run(createAttacker(start, tally)).catch((error: unknown) => {
    tally[`error: ${error instanceof Error ? error.message : String(error)}`] = 1;
    report();
  });
});
// The parent has exited, so this process exits as well.
process.on("disconnect", () => process.exit());
