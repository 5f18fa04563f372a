import type { Agent, User } from "../context/actor.ts";
import type { NewJob } from "../job/job.ts";
import { isMentioned, parseMentions } from "../values/mention.ts";
import { toAlertActor, toAlertJob } from "./alert-job.ts";

/** Names beyond these are not looked up. */
const MAX_NAMES = 20;

interface MentioningText {
  organization_id: string;
  /** Null for the chat of a group. */
  board_id: string | null;
  /** The task of a comment; null for a chat. */
  task_id: string | null;
  /** The task, board or group. */
  subject_id: string;
  text: string;
}

/** The job that tells people that a text names them. None if the text names nobody but agents. */
export function mentionJobs(
  actor: User | Agent,
  { text, ...place }: MentioningText,
  agents: readonly { name: string; is_board_lead: boolean }[],
): NewJob<"people.tell">[] {
  const isAgent = (name: string) => name === "lead" || agents.some((agent) => isMentioned(agent, new Set([name])));
  const names = [...parseMentions(text)].filter((name) => !isAgent(name)).slice(0, MAX_NAMES);
  if (names.length === 0) return [];
  const key = `mention:${crypto.randomUUID()}`;
  return [toAlertJob({ type: "mention", ...place, key, actor: toAlertActor(actor), names })];
}
