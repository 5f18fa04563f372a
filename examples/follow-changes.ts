// Follows every change of a board as it happens, and resumes after a restart where it stopped. It uses nothing but fetch.
// Run: BOARD_TOKEN=… BOARD=… POSITION=position.txt node examples/follow-changes.ts
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const url = process.env.BOARD_URL ?? "http://127.0.0.1:8000";
const file = process.env.POSITION ?? "position.txt";
const feed = `${url}/api/v1/changes`;
const filter = `board_id=${process.env.BOARD}`;
const authorization = { Authorization: `Bearer ${process.env.BOARD_TOKEN}` };

/** Stores the position in a new file that replaces the old one, so that a process that is killed leaves one of the two. */
function store(position: string): void {
  writeFileSync(`${file}.new`, position);
  renameSync(`${file}.new`, file);
}

/** Yields the events of one connection. An event consists of lines such as `id:` and `data:`, and ends with a blank line. */
async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<{ id: string; data: string }> {
  let text = "";
  for await (const part of body.pipeThrough(new TextDecoderStream())) {
    text += part;
    const frames = text.split("\n\n");
    text = frames.pop()!;
    for (const frame of frames) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(frame)?.[1];
      const [id, data] = [field("id"), field("data")];
      if (id !== undefined && data !== undefined) yield { id, data };
    }
  }
}

// The first run begins now, and stores that position at once, so that no restart can skip a change.
if (!existsSync(file)) {
  const answer = await fetch(`${feed}?${filter}`, { headers: authorization });
  if (!answer.ok) throw new Error(await answer.text());
  store(((await answer.json()) as { cursor: string }).cursor);
}

for (;;) {
  const headers = { ...authorization, "Last-Event-ID": readFileSync(file, "utf8") };
  const answer = await fetch(`${feed}/stream?${filter}`, { headers }).catch(() => null);
  // 4xx: the service no longer keeps the changes after this position, or the token is not valid. Another attempt would not help.
  if (answer && answer.status >= 400 && answer.status < 500 && answer.status !== 429) throw new Error(await answer.text());
  if (answer?.body && answer.ok) {
    console.log("Following");
    try {
      for await (const { id, data } of readEvents(answer.body)) {
        const { type, action, actor } = JSON.parse(data) as { type: string; action: string; actor: { type: string } };
        console.log(`${type} ${action} by ${actor.type}`);
        store(id); // saved after the work, so that a change is sent again if its handling was interrupted
      }
    } catch {
      // The connection broke. The next connection begins after the last position that was handled.
    }
  }
  await pause(2_000);
}
