import { setTimeout as pause } from "node:timers/promises";
import type { FakeGateway } from "../fake-gateway/server.ts";
import type { Screen } from "./screen.ts";
import type { Tally } from "./tally.ts";

/** What everybody in the demo works with. */
export interface Stage {
  /** Where the service is. */
  url: string;
  screen: Screen;
  tally: Tally;
  gateway: FakeGateway;
  /** Aborted when the demo is over: every pause and every request ends with it. */
  over: AbortSignal;
}

const LOOK_MS = 50;

/** Waits; rejects when the demo is over. */
export const wait = ({ over }: Pick<Stage, "over">, ms: number): Promise<void> => pause(ms, undefined, { signal: over });

/** Waits for something to come true, but no longer than `limit_ms`. */
export async function until(stage: Pick<Stage, "over">, condition: () => boolean, limit_ms: number): Promise<void> {
  const deadline = performance.now() + limit_ms;
  while (!condition() && performance.now() < deadline) await wait(stage, LOOK_MS);
}
