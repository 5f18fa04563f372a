import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { readLines } from "./lines.ts";

/** The longest message of an agent. A longer message ends the run. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

export interface StreamEvents {
  /** Called with a line that is not a message of the protocol. */
  onText(text: string): void;
  onMessage(): void;
  onTooLong(): void;
}

/**
 * Opens a stream of protocol messages on the standard input and output of a process. Unlike the SDK's stream, it reads only when
 * the connection asks for more, so that an agent with endless output has to wait. It also accepts lines that are not messages.
 */
export function openAgentStream({ stdin, stdout }: ChildProcessWithoutNullStreams, events: StreamEvents): Stream {
  const lines = readLines(stdout, MAX_MESSAGE_BYTES);
  const readable = new ReadableStream<AnyMessage>(
    {
      async pull(controller) {
        for (;;) {
          const { value: line, done } = await lines.next().catch(() => ({ value: undefined, done: true as const }));
          if (done || !line) return controller.close();
          if (line.is_cut) events.onTooLong();
          const message = line.is_cut ? null : parseMessage(line.text);
          if (message) {
            events.onMessage();
            return controller.enqueue(message);
          }
          if (line.text.trim() !== "") events.onText(line.text);
        }
      },
    },
    { highWaterMark: 0 },
  );
  const writable = new WritableStream<AnyMessage>({
    write: (message) =>
      new Promise((resolve, reject) => {
        stdin.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
      }),
  });
  return { readable, writable };
}

function parseMessage(text: string): AnyMessage | null {
  try {
    const message = JSON.parse(text) as AnyMessage;
    return typeof message === "object" && message !== null && !Array.isArray(message) && "jsonrpc" in message ? message : null;
  } catch {
    return null;
  }
}
