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

/** Sends a request to the service, as any client of its API would; a refusal is thrown. */
export type Call = <T>(method: "GET" | "POST" | "PATCH", path: string, body?: object) => Promise<T>;

/** An answer that is none of the good ones. */
export class Refused extends Error {
  readonly status: number;
  /** Why, in the words of the service. */
  readonly reason: string;
  /** A word for programs, where the service has one. */
  readonly code: string | undefined;

  constructor(request: string, status: number, text: string) {
    super(`${request}: ${status} ${text}`);
    const { detail } = JSON.parse(text) as { detail: string | { message?: string; code?: string } };
    this.status = status;
    this.reason = typeof detail === "string" ? detail : (detail.message ?? JSON.stringify(detail));
    this.code = typeof detail === "string" ? undefined : detail.code;
  }
}

/** A client that signs in with these headers. */
export function client({ url, over }: Pick<Stage, "url" | "over">, credentials: Record<string, string>): Call {
  return async <T>(method: string, path: string, body?: object) => {
    const response = await fetch(url + path, {
      method,
      headers: { ...credentials, ...(body ? { "content-type": "application/json" } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: over,
    });
    if (!response.ok) throw new Refused(`${method} ${path}`, response.status, await response.text());
    return (await response.json()) as T;
  };
}

/** The data of a stream's events as they come. */
export type Follow = <T>(path: string) => AsyncGenerator<T>;

/** Follows streams with these headers, until the service ends them. */
export function follower({ url, over }: Pick<Stage, "url" | "over">, credentials: Record<string, string>): Follow {
  return async function* <T>(path: string) {
    const response = await fetch(url + path, { headers: { ...credentials, accept: "text/event-stream" }, signal: over });
    if (!response.ok) throw new Refused(`GET ${path}`, response.status, await response.text());
    let text = "";
    for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
      const frames = (text + part).split("\n\n");
      text = frames.pop()!;
      for (const frame of frames) {
        const data = /^data: (.*)$/m.exec(frame)?.[1];
        if (data !== undefined) yield JSON.parse(data) as T;
      }
    }
  };
}
