/** Walks through a scenario once for each moment at which its process can die, and looks what comes of it. */
import { expect } from "vitest";
import type { FakeGateway } from "../../../packages/local/src/fake-gateway/server.ts";
import type { Outside } from "./outside.ts";
import type { KillAt } from "./points.ts";
import { type Crew, Died } from "./processes.ts";
import { createRandom } from "./random.ts";
import type { Office } from "./scenarios/office.ts";
import { type Stage, startHost } from "./stage.ts";

export interface Scenario {
  name: string;
  /** What the process is asked for that dies of it. What it has answered goes into `answers`. */
  act(outside: Outside, office: Office, answers: Answers): Promise<void>;
  /**
   * Holds what has come of it, once the survivors have done what there was to do, against what was promised. Returns what
   * is no breach of it, and yet worth telling.
   */
  check(outside: Outside, office: Office, answers: Answers): Promise<string | null>;
}

/** Status and body of each request that was answered. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Answers = { status: number; body: any }[];

export interface Walk {
  /** One process after the other, and when it dies; the one after them does not. */
  deaths: readonly KillAt[];
  /** The queue loses all it had when a process dies; otherwise it gives back what it was not told is done. */
  forgetful: boolean;
}

export interface Walked {
  /** Where processes died. */
  moments: string[];
  /** Nobody has heard of the request's outcome. */
  unanswered: boolean;
  /** Calls to send a message that the host had taken already. */
  repeats: number;
  remark: string | null;
}

/** Longer than a lease, and than a turn at a host. */
const LEASE_MS = 61_000;
/** Longer than a wake-up is waited for. */
const LOST_MS = 31 * 60_000;
const MOST_ROUNDS = 5;

/** One walk. Rejects with Broken. */
export async function walkOnce(
  crew: Crew,
  { scenario, stage, host }: { scenario: Scenario; stage: Stage; host: FakeGateway },
  { deaths, forgetful }: Walk,
): Promise<Walked> {
  const outside = await stage.open(host);
  const answers: Answers = [];
  const moments: string[] = [];
  const begin = async () => {
    await scenario.act(outside, stage.office, answers);
    await outside.settle();
  };
  try {
    for (const [index, kill_at] of deaths.entries()) {
      const process = await crew.take();
      try {
        await outside.employ(process, kill_at);
        await (index === 0 ? begin() : goOn(outside));
        await crew.release(process);
      } catch (error) {
        if (!(error instanceof Died)) throw error;
        moments.push(error.moment ?? "killed from outside");
        if (forgetful) outside.queue = [];
      }
    }
    const unanswered = answers.length === 0;
    const process = await crew.take();
    await outside.employ(process, null);
    if (moments.length > 0) await goOn(outside);
    const remark = await scenario.check(outside, stage.office, answers);
    expect(outside.errors).toEqual([]);
    await crew.release(process);
    const sent = host.calls.filter(({ method }) => method === "chat.send").length;
    return { moments, unanswered, repeats: sent - host.messages.length, remark };
  } catch (cause) {
    throw new Broken({ deaths, forgetful }, moments, cause);
  } finally {
    await stage.drop(outside);
  }
}

/** A promise that was not kept after a death. */
export class Broken extends Error {
  constructor({ deaths, forgetful }: Walk, moments: readonly string[], cause: unknown) {
    const reason = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
    const queue = forgetful ? "the queue forgot" : "the queue remembered";
    super(`killed at ${deaths.join(", ")} (${moments.join("; ")}), ${queue}: ${reason}`, { cause });
    this.name = "Broken";
  }
}

/** What a deployment does of its own accord, as long as something is left to do. */
async function goOn(outside: Outside): Promise<void> {
  // They do not wait until somebody is seen to be dead.
  await outside.checkIn();
  for (let round = 0; round < MOST_ROUNDS; round++) {
    await outside.elapse(round === 0 ? LEASE_MS : LOST_MS);
    await outside.settle();
    await outside.schedule("relay");
    await outside.schedule("lifecycle");
    await outside.settle();
    if ((await outside.live()).length === 0) return;
  }
  throw new Error(`Stuck: ${JSON.stringify(await outside.live())}`);
}

export interface Walks {
  /** Each with one death, and then those with two. */
  single: Walked[];
  double: Walked[];
  failures: string[];
}

/** After so many failures the rest would tell nothing new. */
const MOST_FAILURES = 5;

/**
 * Walks with a death at the first moment, at the second and so on until the process survives, and then so many walks in
 * which the next process dies too. The seed decides what the queue does at each. Some walks go on beside each other.
 * Failures are collected, not thrown.
 */
export async function walkAll(
  crew: Crew,
  { scenario, stage }: { scenario: Scenario; stage: Stage },
  { beside, doubles, seed }: { beside: number; doubles: number; seed: number },
): Promise<Walks> {
  const walks: Walks = { single: [], double: [], failures: [] };
  const random = createRandom(seed);

  async function walkers(next: () => Walk | null, take: (walked: Walked) => void): Promise<void> {
    const walker = async () => {
      const host = await startHost();
      for (let walk = next(); walk && walks.failures.length < MOST_FAILURES; walk = next())
        await walkOnce(crew, { scenario, stage, host }, walk).then(take, (error: unknown) => {
          if (!(error instanceof Broken)) throw error;
          walks.failures.push(error.message);
        });
      await host.close();
    };
    await Promise.all(Array.from({ length: beside }, walker));
  }

  let moment = 0;
  let survived = false;
  await walkers(
    () => (survived ? null : { deaths: [++moment], forgetful: random() < 0.5 }),
    (walked) => {
      if (walked.moments.length === 0) survived = true;
      else walks.single.push(walked);
    },
  );
  const anyMoment = () => Math.ceil(random() * walks.single.length);
  let left = doubles;
  await walkers(
    () => (left-- > 0 ? { deaths: [anyMoment(), anyMoment()], forgetful: random() < 0.5 } : null),
    (walked) => void walks.double.push(walked),
  );
  return walks;
}
