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

/** Waits; rejects when the demo is over. */
export const wait = ({ over }: Pick<Stage, "over">, ms: number): Promise<void> => pause(ms, undefined, { signal: over });

/** Sends a request to the service, as any client of its API would; a refusal is thrown. */
export type Call = <T>(method: "GET" | "POST", path: string, body?: object) => Promise<T>;

/** A client that signs in with these headers. */
export function client({ url, over }: Stage, credentials: Record<string, string>): Call {
  return async <T>(method: string, path: string, body?: object) => {
    const response = await fetch(url + path, {
      method,
      headers: { ...credentials, ...(body ? { "content-type": "application/json" } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: over,
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  };
}
