import * as cast from "./participants.ts";
import type { Agent } from "./setup.ts";
import type { DemoContext } from "./demo-context.ts";
import { parseMessage, type AgentMessage } from "./agent-messages.ts";

/** Delays above this are shown in the log. */
const SLOW_DELIVERY_MS = 2_000;
/** Messages about one task within this time share a line, because a move with a comment sends two messages. */
const MERGE_WINDOW_MS = 120;

interface PendingLine {
  headers: string[];
  task_ids: string;
  waited_ms: number;
}

const formatDelay = (ms: number, what: string) => (ms > SLOW_DELIVERY_MS ? `, ${(ms / 1000).toFixed(1)} s ${what}` : "");

/** Logs the messages that the gateway receives for each agent. */
export function logMessages(demo: DemoContext, agents: Agent[]): void {
  const { log, statistics } = demo;
  for (const { who, session_key } of agents) {
    let pending: PendingLine | undefined;
    const flush = () => {
      if (!pending) return;
      const { headers, task_ids, waited_ms } = pending;
      pending = undefined;
      log.write(cast.gateway, `wakes ${who.name}: ${headers.join(" and ")} ${task_ids}${formatDelay(waited_ms, "late")}`);
    };
    const logMessage = ({ header, payload, task_ids: ids }: AgentMessage) => {
      if (payload) {
        flush();
        const { subject, waited_ms } = statistics.recordDelivery(payload.id);
        log.write(cast.gateway, `wakes ${who.name} for the ${subject}${formatDelay(waited_ms, "after the post")}`);
        return;
      }
      const waited_ms = statistics.recordTaskMessage(ids);
      const task_ids = ids.map((id) => statistics.taskLabel(id)).join(", ");
      if (pending?.task_ids === task_ids) {
        pending.headers.push(header);
        return;
      }
      flush();
      const line = { headers: [header], task_ids, waited_ms };
      pending = line;
      setTimeout(() => pending === line && !demo.signal.aborted && flush(), MERGE_WINDOW_MS);
    };
    demo.gateway.onMessage((message) => {
      const wake = message.session_key === session_key ? parseMessage(message.message) : undefined;
      if (wake && !demo.signal.aborted) logMessage(wake);
    });
  }
}
