import type { Agent, System, User } from "./actor.ts";

/** Who wrote a text, as the credential or the database says it. No text, name or source can claim it. */
export interface Author {
  type: (User | Agent | System)["type"];
  /** Null for the service. */
  id: string | null;
}

export const authorOf = (actor: User | Agent | System): Author =>
  actor.type === "system"
    ? { type: "system", id: null }
    : { type: actor.type, id: actor.type === "user" ? actor.user_id : actor.agent_id };

const WORDS = { user: "person", agent: "agent" } as const;

/** The author in words, such as `person <id>`. */
export function authorText(author: Author | null): string {
  if (author === null) return "an unknown author";
  return author.type === "system" ? "the service" : `${WORDS[author.type]} ${author.id}`;
}
