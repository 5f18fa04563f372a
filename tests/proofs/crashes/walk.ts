/** Walks through a scenario once for each crash point of its process and checks the result. */
import { expect } from "vitest";
import type { FakeGateway } from "../../support/fake-gateway/server.ts";
import type { ServiceEnvironment } from "../load/environment.ts";
import { startHost } from "../load/hosts.ts";
import type { KillAt } from "../load/crash-points.ts";
import { type ProcessPool, ProcessDied } from "../load/process-pool.ts";
import { createRandom } from "../load/random.ts";
import type { ScenarioFixture } from "./scenarios/setup.ts";
import type { ScenarioSnapshot } from "./snapshot.ts";

export interface Scenario {
  name: string;
  /** The requests to the process that will be killed. Its answers are added to `answers`. */
  act(outside: ServiceEnvironment, fixture: ScenarioFixture, answers: Answers): Promise<void>;
  /**
   * Checks the result after recovery and throws when an invariant does not hold. Returns a remark about an effect that is allowed
   * but notable.
   */
  check(outside: ServiceEnvironment, fixture: ScenarioFixture, answers: Answers): Promise<string | null>;
}

/** The status and body of each answered request. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Answers = { status: number; body: any }[];

export interface Walk {
  /** Where each of the successive processes is killed. The process after them survives. */
  deaths: readonly KillAt[];
  /** Whether the queue loses its messages when a process dies. Otherwise it delivers unfinished messages again. */
  loses_messages: boolean;
}

export interface Walked {
  /** The crash points where processes were killed. */
  crash_points: string[];
  /** Whether the request got no answer. */
  unanswered: boolean;
  /** The number of repeated calls for messages that the host already had. */
  repeats: number;
  remark: string | null;
}

/** Longer than a lease and than a config lock of a host. */
const LEASE_MS = 61_000;
/** Longer than the time after which the relay counts a wake-up as lost. */
const WAKE_UP_LOST_MS = 31 * 60_000;
const MAX_ROUNDS = 5;

/** Performs one walk. Rejects with InvariantViolated. */
export async function walkOnce(
  crew: ProcessPool,
  { scenario, stage, host }: { scenario: Scenario; stage: ScenarioSnapshot; host: FakeGateway },
  { deaths, loses_messages }: Walk,
): Promise<Walked> {
  const outside = await stage.open(host);
  const answers: Answers = [];
  const crash_points: string[] = [];
  const begin = async () => {
    await scenario.act(outside, stage.fixture, answers);
    await outside.drainQueue();
  };
  try {
    for (const [index, kill_at] of deaths.entries()) {
      const process = await crew.take();
      try {
        await outside.useProcess(process, kill_at);
        await (index === 0 ? begin() : recover(outside));
        await crew.release(process);
      } catch (error) {
        if (!(error instanceof ProcessDied)) throw error;
        crash_points.push(error.crash_point ?? "killed from outside");
        if (loses_messages) outside.queue = [];
      }
    }
    const unanswered = answers.length === 0;
    const process = await crew.take();
    await outside.useProcess(process, null);
    if (crash_points.length > 0) await recover(outside);
    const remark = await scenario.check(outside, stage.fixture, answers);
    expect(outside.errors).toEqual([]);
    await crew.release(process);
    const sent = host.calls.filter(({ method }) => method === "chat.send").length;
    return { crash_points, unanswered, repeats: sent - host.messages.length, remark };
  } catch (cause) {
    throw new InvariantViolated({ deaths, loses_messages }, crash_points, cause);
  } finally {
    await stage.drop(outside);
  }
}

/** An invariant does not hold after a kill. */
class InvariantViolated extends Error {
  constructor({ deaths, loses_messages }: Walk, moments: readonly string[], cause: unknown) {
    const reason = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
    const queue = loses_messages ? "the queue lost its messages" : "the queue kept its messages";
    super(`killed at ${deaths.join(", ")} (${moments.join("; ")}), ${queue}: ${reason}`, { cause });
    this.name = "InvariantViolated";
  }
}

/** Does what a deployment does periodically, until no job is left. */
async function recover(outside: ServiceEnvironment): Promise<void> {
  // Agents send heartbeats without waiting for the recovery.
  await outside.checkIn();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    await outside.elapse(round === 0 ? LEASE_MS : WAKE_UP_LOST_MS);
    await outside.drainQueue();
    await outside.schedule("relay");
    await outside.schedule("lifecycle");
    await outside.drainQueue();
    if ((await outside.live()).length === 0) return;
  }
  throw new Error(`Stuck: ${JSON.stringify(await outside.live())}`);
}

export interface Walks {
  /** Walks with one kill each; `double` has walks with two kills each. */
  single: Walked[];
  double: Walked[];
  failures: string[];
}

/** Stops after this many failures, since more would add nothing. */
const MAX_FAILURES = 5;

/**
 * Kills at the first crash point, at the second and so on until the process survives, and then performs `doubles` walks
 * with two kills. The seed decides whether the queue loses messages. `concurrency` walks run at the same time. Failures
 * are collected, not thrown.
 */
export async function walkAll(
  crew: ProcessPool,
  { scenario, stage }: { scenario: Scenario; stage: ScenarioSnapshot },
  { concurrency, doubles, seed }: { concurrency: number; doubles: number; seed: number },
): Promise<Walks> {
  const walks: Walks = { single: [], double: [], failures: [] };
  const random = createRandom(seed);

  async function walkers(next: () => Walk | null, take: (walked: Walked) => void): Promise<void> {
    const walker = async () => {
      const host = await startHost();
      for (let walk = next(); walk && walks.failures.length < MAX_FAILURES; walk = next())
        await walkOnce(crew, { scenario, stage, host }, walk).then(take, (error: unknown) => {
          if (!(error instanceof InvariantViolated)) throw error;
          walks.failures.push(error.message);
        });
      await host.close();
    };
    await Promise.all(Array.from({ length: concurrency }, walker));
  }

  let moment = 0;
  let survived = false;
  await walkers(
    () => (survived ? null : { deaths: [++moment], loses_messages: random() < 0.5 }),
    (walked) => {
      if (walked.crash_points.length === 0) survived = true;
      else walks.single.push(walked);
    },
  );
  const anyMoment = () => Math.ceil(random() * walks.single.length);
  let remaining = doubles;
  await walkers(
    () => (remaining-- > 0 ? { deaths: [anyMoment(), anyMoment()], loses_messages: random() < 0.5 } : null),
    (walked) => void walks.double.push(walked),
  );
  return walks;
}
