import type { NotificationFacts } from "../people/notification-text.ts";
import { toText, toTitle } from "../people/notification-text.ts";

/** A notification as a channel shows it. */
export interface ChannelItem {
  title: string;
  /** The words of others; null if there are none. */
  text: string | null;
  board_name: string | null;
  /** The page on which the person decides; null if there is nothing to decide. */
  decide_url: string | null;
  /** The place in the console. */
  open_url: string;
}

export interface ItemLinks {
  decide_url: string | null;
  open_url: string;
}

export const toItem = (facts: NotificationFacts, links: ItemLinks): ChannelItem => ({
  title: toTitle(facts),
  text: toText(facts),
  board_name: facts.board_name,
  ...links,
});

const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** A text of others in HTML. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => ESCAPES[character]!);
