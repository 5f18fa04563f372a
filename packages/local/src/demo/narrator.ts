import * as cast from "./cast.ts";
import type { Agent } from "./setting.ts";
import type { Stage } from "./stage.ts";
import { toWake, type Wake } from "./wake.ts";

/** From here on the log says how long somebody waited. */
const LATE_MS = 2_000;
/** What arrives about the same task within this time is one line: a move with a comment is told as both. */
const FOLD_MS = 120;

interface Line {
  headers: string[];
  task_ids: string;
  waited_ms: number;
}

const after = (ms: number, what: string) => (ms > LATE_MS ? `, ${(ms / 1000).toFixed(1)} s ${what}` : "");

/** Tells which messages the gateway hands to which agent, in the order of arrival. */
export function tellWakes(stage: Stage, agents: Agent[]): void {
  const { screen, tally } = stage;
  for (const { who, session_key } of agents) {
    let held: Line | undefined;
    const release = () => {
      if (!held) return;
      const { headers, task_ids, waited_ms } = held;
      held = undefined;
      screen.tell(cast.gateway, `wakes ${who.name}: ${headers.join(" and ")} ${task_ids}${after(waited_ms, "late")}`);
    };
    const hear = ({ header, payload, task_ids: ids }: Wake) => {
      if (payload) {
        release();
        const { subject, waited_ms } = tally.delivered(payload.id);
        screen.tell(cast.gateway, `wakes ${who.name} for the ${subject}${after(waited_ms, "after the post")}`);
        return;
      }
      const waited_ms = tally.told(ids);
      const task_ids = ids.map((id) => tally.numberOf(id)).join(", ");
      if (held?.task_ids === task_ids) {
        held.headers.push(header);
        return;
      }
      release();
      const line = { headers: [header], task_ids, waited_ms };
      held = line;
      setTimeout(() => held === line && !stage.over.aborted && release(), FOLD_MS);
    };
    stage.gateway.onMessage((message) => {
      const wake = message.session_key === session_key ? toWake(message.message) : undefined;
      if (wake && !stage.over.aborted) hear(wake);
    });
  }
}
