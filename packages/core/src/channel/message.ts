import type { Context } from "../context/context.ts";
import type { NotificationFacts } from "../people/notification-text.ts";
import { toText, toTitle } from "../people/notification-text.ts";
import { oneLine } from "../values/wire.ts";

/** A notification as a channel shows it. */
export interface ChannelItem {
  title: string;
  /** The text that another person or agent wrote; null if there is none. */
  text: string | null;
  board_name: string | null;
  /** The page on which the person decides; null if there is nothing to decide. */
  decide_url: string | null;
  /** The address of the page in the console. */
  open_url: string;
}

export interface ItemLinks {
  decide_url: string | null;
  open_url: string;
}

export const toItem = (facts: NotificationFacts, links: ItemLinks): ChannelItem => ({
  title: toTitle(facts),
  text: toText(facts),
  board_name: facts.board_name === null ? null : oneLine(facts.board_name),
  ...links,
});

/** Returns the content of a test message. */
export const testItem = ({ settings }: Pick<Context, "settings">): ChannelItem => ({
  title: "This is a test",
  text: "Messages of your boards arrive here.",
  board_name: null,
  decide_url: null,
  open_url: `${settings.service_url}/#/inbox/notifications`,
});

/** Summarizes several notifications in one line. */
export const toSummary = (titles: readonly string[]): string =>
  titles.length === 1 ? titles[0]! : `${titles.length} things happened on your boards`;

const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Escapes a text for HTML. Other people and agents write these texts, so they may contain markup. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => ESCAPES[character]!);
