import type { AgentRead } from "@board/core/agent/agent";
import type { MemoryEntry } from "@board/core/memory/memory";
import type { Page } from "@board/core/page";
import { milo } from "./cast.ts";
import type { Agent } from "./setting.ts";
import { type Stage, wait } from "./stage.ts";

const HEARTBEAT_MS = 2_500;
const WORKING_MS = 900;

/** What the worker answers; the first pattern that fits the request. */
const ANSWERS: [RegExp, string][] = [
  [/payment tests/, "payment tests are green, 214 of 214"],
  [/look into/, "found it, the connection pool was full; errors are falling"],
  [/refund/, "refund sent, and I wrote to say so"],
  [/parcel|delivery/, "the parcel is at the depot, a new date is arranged"],
];
const ANY_ANSWER = "done, and the answer is on its way";

/** The worker wakes by its own clock: a heartbeat, then whatever the chat holds for it. */
export async function playWorker(stage: Stage, { call, board_id }: Agent): Promise<void> {
  const { screen, tally } = stage;
  const memory = `/api/v1/agent/boards/${board_id}/memory`;
  const seen = new Set<string>();
  const me = await call<AgentRead>("POST", "/api/v1/agent/heartbeat");
  screen.tell(milo, `sends a first heartbeat and is ${me.status}`);
  for (;;) {
    await wait(stage, HEARTBEAT_MS);
    await call("POST", "/api/v1/agent/heartbeat");
    const chat = await call<Page<MemoryEntry>>("GET", `${memory}?is_chat=true&limit=20`);
    const fresh = chat.items.filter(({ id, content }) => content.startsWith("@milo") && !seen.has(id)).toReversed();
    for (const { id, content } of fresh) {
      seen.add(id);
      await wait(stage, WORKING_MS);
      const answer = `@iris ${ANSWERS.find(([pattern]) => pattern.test(content))?.[1] ?? ANY_ANSWER}`;
      await call("POST", memory, { content: answer, tags: ["chat"] });
      tally.said();
      screen.tell(milo, `answers: ${answer}`);
    }
  }
}
