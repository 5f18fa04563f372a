/** The part that follows the memory of boards with many clients. Like EventSource, they reconnect at their last event id. */
import { setTimeout as pause } from "node:timers/promises";
import { open } from "./http-client.ts";
import { serveAsPart } from "./part.ts";
import type { Home } from "./requests.ts";

const PAUSE_MS = 100;

interface Follower {
  /** The index of the stream's home in the list of homes. */
  home: number;
  seen: Set<string>;
  connections: number;
}

const followers: Follower[] = [];

async function follow(url: string, { token, board_id }: Home, follower: Follower, onOpen: () => void): Promise<never> {
  let last = "";
  async function read(): Promise<void> {
    const headers = { authorization: `Bearer ${token}`, ...(last ? { "last-event-id": last } : {}) };
    const answer = await open(`${url}/api/v1/boards/${board_id}/memory/stream`, { headers });
    if (answer.statusCode !== 200) {
      answer.destroy();
      throw new Error(`The stream got ${answer.statusCode}`);
    }
    follower.connections++;
    onOpen();
    let text = "";
    for await (const part of answer.setEncoding("utf8")) {
      text += part as string;
      const frames = text.split("\n\n");
      text = frames.pop()!;
      for (const frame of frames) {
        last = /^id: (.*)$/m.exec(frame)?.[1] ?? last;
        const data = /^data: (.*)$/m.exec(frame)?.[1];
        if (data) follower.seen.add((JSON.parse(data) as { memory: { content: string } }).memory.content);
      }
    }
  }
  for (;;) {
    // A cut stream is opened again; a client without a position would begin at the present and so miss entries.
    await read().catch(() => {});
    await pause(PAUSE_MS);
  }
}

const methods = {
  /** Resolves when all streams are open. */
  async begin(url: string, homes: Home[], streams: number): Promise<void> {
    const opened = Array.from({ length: streams }, (_, n) => {
      const follower = { home: n % homes.length, seen: new Set<string>(), connections: 0 };
      followers.push(follower);
      return new Promise<void>((resolve) => void follow(url, homes[follower.home]!, follower, resolve));
    });
    await Promise.all(opened);
  },
  /** Counts the entries that a stream of their home has not shown, summed over all streams. */
  missing: (written: string[][]): number =>
    followers.reduce((sum, { home, seen }) => sum + new Set(written[home]).difference(seen).size, 0),
  reconnects: (): number => followers.reduce((sum, { connections }) => sum + Math.max(0, connections - 1), 0),
};

export type FollowersMethods = typeof methods;

serveAsPart(methods);
