import type { Readable } from "node:stream";

export interface Line {
  text: string;
  /** Whether the line was longer than the limit, so that its end is missing. */
  is_cut: boolean;
}

/**
 * Yields the lines of an output. It keeps one line of at most `max_bytes` in memory and reads on only when the caller asks for
 * more. `onOutput` is called for any output, also for a part of a line.
 */
export async function* readLines(input: Readable, max_bytes: number, onOutput = () => {}): AsyncGenerator<Line> {
  let parts: Buffer[] = [];
  let size = 0;
  let is_cut = false;
  const add = (part: Buffer) => {
    const kept = part.subarray(0, Math.max(0, max_bytes - size));
    if (kept.length < part.length) is_cut = true;
    if (kept.length > 0) parts.push(Buffer.from(kept));
    size += kept.length;
  };
  const take = (): Line => {
    const line = { text: Buffer.concat(parts).toString("utf8").replace(/\r$/, ""), is_cut };
    parts = [];
    size = 0;
    is_cut = false;
    return line;
  };
  for await (const chunk of input as AsyncIterable<Buffer>) {
    onOutput();
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      add(chunk.subarray(start, end));
      yield take();
      start = end + 1;
    }
    add(chunk.subarray(start));
  }
  if (size > 0) yield take();
}
