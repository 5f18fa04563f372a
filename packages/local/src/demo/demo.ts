import { setTimeout as pause } from "node:timers/promises";
import { styleText } from "node:util";
import { type Client, createClient } from "@board/client/client";
import { printLine } from "../terminal.ts";

/** The participants, with their colors in the second column of the log. */
const AGENTS = {
  Iris: "cyan",
  Milo: "green",
  Juno: "greenBright",
  Rex: "redBright",
  Nova: "magentaBright",
  Otto: "cyanBright",
} as const;
const SENDERS = { GitHub: "blue", monitor: "yellow", customer: "yellowBright", stranger: "red" } as const;
const COLORS = { you: "white", ...AGENTS, ...SENDERS } as const;
export type Agent = keyof typeof AGENTS;
export type Participant = keyof typeof COLORS;

/** What all participants of the demo share. */
export interface Demo {
  url: string;
  /** Aborted at the end of the demo, which ends all pauses and requests. */
  signal: AbortSignal;
  /** A client with the token of the person. */
  api: Client;
  /** Accepted posts by the id of their payload, with the number of times that the lead has handled each post. */
  posts: Map<string, { subject: string; at: number; handled: number }>;
  rejected_posts: number;
  done_tasks: number;
  /** While it is offline, the lead handles no messages. */
  lead_is_offline: boolean;
  /** Prints a line with time, participant and text. `strong` highlights an important event. */
  say: (who: Participant, what: string, strong?: boolean) => void;
  /** Returns the short name of a task in the log, such as `#1`. */
  label(task_id: string): string;
  wait(ms: number): Promise<void>;
}

export function createDemo(url: string, token: string, signal: AbortSignal): Demo {
  const started = performance.now();
  const tasks: string[] = [];
  return {
    url,
    signal,
    api: createClient({ url, token, signal }),
    posts: new Map(),
    rejected_posts: 0,
    done_tasks: 0,
    lead_is_offline: false,
    say(who, what, strong = false) {
      const time = styleText("dim", `${((performance.now() - started) / 1000).toFixed(1).padStart(6)} s`);
      printLine(`  ${time}  ${styleText(COLORS[who], who.padEnd(9))} ${strong ? styleText("bold", what) : what}`);
    },
    label(task_id) {
      if (!tasks.includes(task_id)) tasks.push(task_id);
      return `#${tasks.indexOf(task_id) + 1}`;
    },
    wait: (ms) => pause(ms, undefined, { signal }),
  };
}
