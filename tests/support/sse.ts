import { vi } from "vitest";

interface ReceivedEvent {
  id: string;
  event: string;
  // Tests read events of every shape and assert what they read.
  // oxlint-disable-next-line typescript/no-explicit-any
  data: any;
}

/** A client of a stream, similar to EventSource, that exposes what it received. */
export interface Listener {
  status: number;
  headers: Headers;
  /** The received text. */
  text: string;
  /** Whether the server has ended the stream. */
  ended: boolean;
  events(): ReceivedEvent[];
  /** Waits until this many events were received in total. */
  waitForEvents(count: number): Promise<ReceivedEvent[]>;
  /** Waits for a text, such as a comment line. */
  waitForText(text: string): Promise<unknown>;
  waitForEnd(): Promise<unknown>;
  /** Returns the id that EventSource would send as Last-Event-ID. */
  lastId(): string | undefined;
  close(): Promise<void>;
}

export interface ListenOptions {
  token?: string;
  agent?: string;
  last?: string | undefined;
}

export const STREAM_TIMEOUT_MS = 10_000;

export async function listen(
  send: (path: string, init: RequestInit) => Response | Promise<Response>,
  path: string,
  { token, agent, last }: ListenOptions,
): Promise<Listener> {
  const headers: Record<string, string> = { accept: "text/event-stream" };
  if (token) headers["authorization"] = `Bearer ${token}`;
  if (agent) headers["x-agent-token"] = agent;
  if (last) headers["last-event-id"] = last;
  const response = await send(path, { headers });
  const reader = response.body!.getReader();
  const until = (condition: () => boolean) => vi.waitUntil(condition, { timeout: STREAM_TIMEOUT_MS, interval: 5 });
  const listener: Listener = {
    status: response.status,
    headers: response.headers,
    text: "",
    ended: false,
    events: () => parseEvents(listener.text),
    async waitForEvents(count) {
      await until(() => listener.events().length >= count);
      return listener.events();
    },
    waitForText: (text) => until(() => listener.text.includes(text)),
    waitForEnd: () => until(() => listener.ended),
    lastId: () => [...listener.text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1],
    close: () => reader.cancel(),
  };
  const decoder = new TextDecoder();
  const pump = async () => {
    for (let part = await reader.read(); !part.done; part = await reader.read())
      listener.text += decoder.decode(part.value, { stream: true });
  };
  void pump().then(
    () => (listener.ended = true),
    () => (listener.ended = true),
  );
  return listener;
}

/** Parses complete frames. Comments and frames without data are not events. */
export function parseEvents(text: string): ReceivedEvent[] {
  const frames = text.split("\n\n").slice(0, -1);
  return frames.flatMap((frame) => {
    const fields = Object.fromEntries(
      frame.split("\n").map((line) => [line.slice(0, line.indexOf(": ")), line.slice(line.indexOf(": ") + 2)]),
    );
    const { id = "", event = "", data } = fields;
    return data === undefined ? [] : [{ id, event, data: JSON.parse(data) }];
  });
}
