import type { Author } from "../context/author.ts";
import { withTruncatedFields } from "../lists/large-fields.ts";
import { closeFence } from "../values/text.ts";
import { NUDGE_KIND } from "../notification/message-kind.ts";
import type { InboxRow } from "./read.ts";

type MessageRow = InboxRow["messages"][number];

/** A message as its agent reads it. If a long text was cut inside a fence, the fence is closed. */
export function toShownMessage({ is_cut, author_id: _, ...message }: MessageRow) {
  const text = is_cut ? closeFence(message.text) : message.text;
  const shown = { ...message, text, created_at: new Date(message.created_at).toISOString() };
  return withTruncatedFields<typeof shown & { truncated_fields?: string[] }>(shown, is_cut && ["text"]);
}

/**
 * The author of a message. Only a nudge is written by an agent. All other messages are written by the service, which names the
 * authors of quoted texts. Null for a nudge whose author was not recorded.
 */
export function messageAuthor({ kind, author_id }: MessageRow): Author | null {
  if (author_id !== null) return { type: "agent", id: author_id };
  return kind === NUDGE_KIND ? null : { type: "system", id: null };
}
