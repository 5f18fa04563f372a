import http from "node:http";

/** A client of a comment stream with as little overhead as possible. */
export interface Stream {
  /** The number of received events. */
  events: number;
  /** The arrival time of each comment, if recorded. */
  received?: Map<string, number>;
  close(): void;
}

const EVENT = "event: comment\n";
const MESSAGE = /"message":"([0-9a-f-]{36})"/g;
const agent = new http.Agent({ maxSockets: Number.POSITIVE_INFINITY });

/** Opens a stream and resolves when the headers have arrived. */
export function follow(url: string, headers: Record<string, string>): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { agent, headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`A stream was answered with ${response.statusCode}`));
      const stream: Stream = { events: 0, close: () => response.destroy() };
      let rest = "";
      response.setEncoding("latin1").on("data", (part: string) => {
        const text = rest + part;
        const whole = text.lastIndexOf("\n\n") + 2;
        rest = text.slice(whole);
        take(stream, text.slice(0, whole));
      });
      // The service may stop after everything was read.
      response.on("error", () => {});
      resolve(stream);
    });
    request.on("error", reject);
  });
}

function take(stream: Stream, frames: string): void {
  stream.events += frames.split(EVENT).length - 1;
  if (!stream.received) return;
  const now = performance.now();
  for (const [, message] of frames.matchAll(MESSAGE)) stream.received.set(message!, now);
}
