import type { Actor, Agent, System, User } from "./actor.ts";

/** The author of a text, as known from a credential or the database, and never from the text itself. */
export interface Author {
  type: (User | Agent | System)["type"];
  /** Null if the service wrote the text. */
  id: string | null;
}

export function authorOf(actor: Actor): Author {
  if (actor.type === "user") return { type: "user", id: actor.user_id };
  if (actor.type === "agent") return { type: "agent", id: actor.agent_id };
  return { type: "system", id: null };
}

const WORDS = { user: "person", agent: "agent" } as const;

/** Describes the author in words, for example `person <id>`. */
export function authorText(author: Author | null): string {
  if (author === null) return "an unknown author";
  return author.type === "system" ? "the service" : `${WORDS[author.type]} ${author.id}`;
}
