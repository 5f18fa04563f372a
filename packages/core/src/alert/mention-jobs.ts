import type { Agent, User } from "../context/actor.ts";
import type { NewJob } from "../job/job.ts";
import { isMentioned, parseMentions } from "../values/mention.ts";
import { authorOf } from "../context/author.ts";
import { toAlertJob } from "./alert-job.ts";

/** The maximum number of names to look up in one text. */
const MAX_NAMES = 20;

interface MentioningText {
  organization_id: string;
  /** Null for the memory of a group. */
  board_id: string | null;
  /** The task of a comment; null for an entry of a memory. */
  task_id: string | null;
  /** The id of the task, board or group. */
  subject_id: string;
  text: string;
}

/** Returns the job that notifies the people mentioned in a text. Returns no job if the text mentions nobody, or only agents. */
export function mentionJobs(
  actor: User | Agent,
  { text, ...place }: MentioningText,
  agents: readonly { name: string; is_board_lead: boolean }[],
): NewJob<"people.tell">[] {
  const isAgent = (name: string) => name === "lead" || agents.some((agent) => isMentioned(agent, new Set([name])));
  const names = [...parseMentions(text)].filter((name) => !isAgent(name)).slice(0, MAX_NAMES);
  if (names.length === 0) return [];
  const key = `mention:${crypto.randomUUID()}`;
  return [toAlertJob({ type: "mention", ...place, key, actor: authorOf(actor), names })];
}
