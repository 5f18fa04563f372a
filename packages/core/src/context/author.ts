import type { Agent, System, User } from "./actor.ts";

/** The author of a text, as known from a credential or the database, and never from the text itself. */
export interface Author {
  type: (User | Agent | System)["type"];
  /** Null if the service wrote the text. */
  id: string | null;
}

export const authorOf = (actor: User | Agent | System): Author =>
  actor.type === "system"
    ? { type: "system", id: null }
    : { type: actor.type, id: actor.type === "user" ? actor.user_id : actor.agent_id };

const WORDS = { user: "person", agent: "agent" } as const;

/** Describes the author in words, for example `person <id>`. */
export function authorText(author: Author | null): string {
  if (author === null) return "an unknown author";
  return author.type === "system" ? "the service" : `${WORDS[author.type]} ${author.id}`;
}
