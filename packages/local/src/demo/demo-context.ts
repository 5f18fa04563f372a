import { setTimeout as pause } from "node:timers/promises";
import type { FakeGateway } from "../fake-gateway/server.ts";
import type { DemoLog } from "./demo-log.ts";
import type { DemoStatistics } from "./statistics.ts";

/** Shared by all participants of the demo. */
export interface DemoContext {
  /** Base URL of the service. */
  url: string;
  log: DemoLog;
  statistics: DemoStatistics;
  gateway: FakeGateway;
  /** Aborted at the end of the demo, which ends all pauses and requests. */
  signal: AbortSignal;
}

const POLL_MS = 50;

/** Waits, and rejects when the demo ends. */
export const wait = ({ signal }: Pick<DemoContext, "signal">, ms: number): Promise<void> => pause(ms, undefined, { signal });

/** Waits until `condition` is true, for at most `limit_ms`. */
export async function waitUntil(demo: Pick<DemoContext, "signal">, condition: () => boolean, limit_ms: number): Promise<void> {
  const deadline = performance.now() + limit_ms;
  while (!condition() && performance.now() < deadline) await wait(demo, POLL_MS);
}
