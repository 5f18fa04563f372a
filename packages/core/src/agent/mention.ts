/** `@name` tokens of a text in lower case, each once: a letter and up to 31 letters, digits, `_` or `-`, not inside a word. */
export function mentionsOf(text: string): Set<string> {
  const found = text.matchAll(/(?<![\p{L}\p{N}_])@(\p{L}[\p{L}\p{N}_-]{0,31})/gu);
  return new Set([...found].map((match) => match[1]!.toLowerCase()));
}

/** Whether the mentions name this agent: `lead` the board's lead alone, otherwise the full name or its first word. */
export function isMentioned(agent: { name: string; is_board_lead: boolean }, mentions: ReadonlySet<string>): boolean {
  if (agent.is_board_lead && mentions.has("lead")) return true;
  const name = agent.name.trim().toLowerCase();
  return [name, name.split(/\s+/)[0]!].some((form) => form !== "" && form !== "lead" && mentions.has(form));
}
