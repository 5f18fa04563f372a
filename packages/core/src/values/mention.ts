/**
 * Returns the distinct `@name` mentions of a text in lower case. A name is a letter followed by up to 31 letters, digits, `_` or
 * `-`. The `@` must not be inside a word.
 */
export function parseMentions(text: string): Set<string> {
  const matches = text.matchAll(/(?<![\p{L}\p{N}_])@(\p{L}[\p{L}\p{N}_-]{0,31})/gu);
  return new Set([...matches].map((match) => match[1]!.toLowerCase()));
}

/** Checks whether the mentions include the agent's full name or its first word. `lead` always means the board's lead. */
export function isMentioned(agent: { name: string; is_board_lead: boolean }, mentions: ReadonlySet<string>): boolean {
  if (agent.is_board_lead && mentions.has("lead")) return true;
  const name = agent.name.trim().toLowerCase();
  return [name, name.split(/\s+/)[0]!].some((form) => form !== "" && form !== "lead" && mentions.has(form));
}
