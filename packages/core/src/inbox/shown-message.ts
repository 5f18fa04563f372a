import type { Author } from "../context/author.ts";
import { withTruncatedFields } from "../lists/large-fields.ts";
import { closeFence } from "../values/text.ts";
import { NUDGE_KIND } from "../notification/message-kind.ts";
import type { InboxRow } from "./read.ts";

type MessageRow = InboxRow["messages"][number];

/** Returns a message as its agent reads it. If a long text was cut inside a fence, the fence is closed. */
export function toShownMessage({ is_cut, author_id: _, ...message }: MessageRow) {
  const text = is_cut ? closeFence(message.text) : message.text;
  const shown = { ...message, text, created_at: new Date(message.created_at).toISOString() };
  return withTruncatedFields<typeof shown & { truncated_fields?: string[] }>(shown, is_cut && ["text"]);
}

/**
 * Returns the author of a message. Agents write only nudges. The service writes all other messages and names the authors of
 * quoted texts. Returns null for a nudge whose author was not recorded.
 */
export function messageAuthor({ kind, author_id }: MessageRow): Author | null {
  if (author_id !== null) return { type: "agent", id: author_id };
  return kind === NUDGE_KIND ? null : { type: "system", id: null };
}
