/** Samples of work, and the deliveries and events that arrive because of it. */
import { setTimeout as pause } from "node:timers/promises";

/** What happened to one piece of work. */
export interface Sample {
  kind: string;
  /** When it began, in milliseconds since 1970. */
  at: number;
  ms: number;
  /** The status of the answer, or what went wrong. A delivery or event that arrived has 200. */
  status: number | "no answer" | "lost" | "503 without Retry-After";
}

/** Creates a sample. `start` and `end` are times of the clock of `performance.now()`. */
export const toSample = (kind: string, start: number, end: number, status: Sample["status"]): Sample => ({
  kind,
  at: performance.timeOrigin + start,
  ms: Math.max(0, end - start),
  status,
});

/** Matches expected deliveries and events with those that arrived, in any order. */
export function createArrivals(samples: Sample[]) {
  const expected = new Map<string, { kind: string; start: number }>();
  const early = new Map<string, number>();
  const add = (kind: string, start: number, end: number) => void samples.push(toSample(kind, start, end, 200));
  const arrivals = {
    expect(kind: string, key: string, start: number): void {
      const arrived = early.get(key);
      if (arrived === undefined) expected.set(key, { kind, start });
      else add(kind, start, arrived);
    },
    arrive(kind: string, key: string | undefined): void {
      if (key === undefined) return;
      early.set(key, performance.now());
      const wanted = expected.get(key);
      expected.delete(key);
      if (wanted) add(kind, wanted.start, performance.now());
    },
    /** Marks all events about a task up to a time as arrived, because an event also shows all earlier changes of its task. */
    arriveUntil(kind: string, id: string, time: string): void {
      const last = `${id} ${time}`;
      for (const key of expected.keys()) if (key !== last && key.startsWith(`${id} `) && key < last) arrivals.arrive(kind, key);
      arrivals.arrive(kind, last);
    },
    async finish(wait_ms: number): Promise<void> {
      const deadline = performance.now() + wait_ms;
      while (expected.size > 0 && performance.now() < deadline) await pause(20);
      for (const { kind, start } of expected.values()) samples.push(toSample(kind, start, performance.now(), "lost"));
    },
  };
  return arrivals;
}

export interface ShownTask {
  id: string;
  updated_at: string;
}

/** Reads a stream to its end. A client that reconnects continues at `position`. */
export async function readTasks(
  body: ReadableStream<Uint8Array>,
  position: { last_id: string },
  onTask: (task: ShownTask) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of body) {
    text += decoder.decode(part, { stream: true });
    const lines = text.split("\n");
    text = lines.pop()!;
    for (const line of lines) {
      if (line.startsWith("id: ")) position.last_id = line.slice(4);
      if (!line.startsWith("data: ")) continue;
      const { task } = JSON.parse(line.slice(6)) as { task?: ShownTask | null };
      if (task) onTask(task);
    }
  }
}
