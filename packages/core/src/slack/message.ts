import { QUESTION, questionOf } from "../approval/question.ts";
import { BUTTON_MS } from "../channel/decision.ts";
import { decisionTokenOf, type Linked, toConsoleLink, toDecideLink } from "../channel/links.ts";
import { toSummary } from "../channel/message.ts";
import type { Context } from "../context/context.ts";
import { type NotificationFacts, toText, toTitle } from "../people/notification-text.ts";
import { addMs } from "../values/time.ts";
import { ellipsize, toPlainText } from "../values/text.ts";

/** Slack's limits in characters for a section and a button, and its recommended limit for the text. */
const MAX_SECTION = 3_000;
const MAX_BUTTON = 75;
const MAX_SUMMARY = 1_000;
/** An item takes three blocks, and Slack allows fifty in a message. */
export const MAX_ITEMS = 15;

export interface SlackMessage {
  /** The text that a phone shows as its notification. Slack reads it as markup, so it is escaped. */
  text: string;
  blocks: object[];
}

/** Returns a quoted text as plain text, so that Slack does not turn parts of it into links, names or emoji. */
export const plain = (text: string, max = MAX_SECTION) => ({
  type: "plain_text",
  text: ellipsize(toPlainText(text), max) || " ",
  emoji: false,
});

/** Escapes a text so that Slack finds no markup in it. */
export const escapeMarkup = (text: string): string =>
  ellipsize(toPlainText(text), MAX_SUMMARY).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

export const section = (text: string) => ({ type: "section", text: plain(text) });
export const remark = (...lines: readonly string[]) => ({ type: "context", elements: lines.map((line) => plain(line)) });

/** The action of a button that answers a question. It contains the position of the option, because its text may be too long. */
export const OPTION_ACTION = /^option_(\d)$/;

interface Button {
  title: string;
  action_id: string;
  value?: string;
  url?: string;
  style?: "primary" | "danger";
}

const button = ({ title, action_id, value, url, style }: Button) => ({
  type: "button",
  text: plain(title, MAX_BUTTON),
  action_id,
  ...(value === undefined ? {} : { value }),
  ...(url === undefined ? {} : { url }),
  ...(style === undefined ? {} : { style }),
});

const EXPIRED = "The buttons of this message have expired. The console still has them.";

export type SlackItem = NotificationFacts & Linked;

/** Returns a message with at most `MAX_ITEMS` notifications of one person. */
export function toSlackMessage(ctx: Context, items: readonly SlackItem[]): SlackMessage {
  return {
    text: escapeMarkup(toSummary(items.map(toTitle))),
    blocks: items.flatMap((item) => itemBlocks(ctx, item, ctx.now())),
  };
}

/** Returns the blocks of a notification in a message that was sent at `sent_at`. Buttons that have expired are left out. */
export function itemBlocks(ctx: Context, item: SlackItem, sent_at: Date): object[] {
  const text = toText(item);
  const lines = [toTitle(item), ...(text === null ? [] : [text])];
  const isOver = addMs(sent_at, BUTTON_MS) <= ctx.now();
  const remarks = [...(item.board_name === null ? [] : [item.board_name]), ...(isOver ? [EXPIRED] : [])];
  return [
    section(lines.join("\n\n")),
    ...(remarks.length === 0 ? [] : [remark(...remarks)]),
    { type: "actions", elements: (isOver ? [openButton(ctx, item)] : buttonsOf(ctx, item, sent_at)).map(button) },
  ];
}

const openButton = (ctx: Context, item: SlackItem): Button => ({
  title: "Open",
  action_id: "open",
  url: toConsoleLink(ctx, item),
});

function buttonsOf(ctx: Context, item: SlackItem, sent_at: Date): Button[] {
  const token = decisionTokenOf(ctx, item, sent_at);
  if (token === null) return [openButton(ctx, item)];
  if (item.type !== "question.asked")
    return [
      { title: "Approve", action_id: "approved", value: token, style: "primary" },
      { title: "Reject", action_id: "rejected", value: token, style: "danger" },
      openButton(ctx, item),
    ];
  const { options, allow_text } = questionOf({ action_type: QUESTION, payload: item.approval?.offer ?? null });
  return [
    ...options.map((title, place) => ({ title, action_id: `option_${place}`, value: token })),
    ...(allow_text ? [{ title: "Answer in own words", action_id: "open", url: toDecideLink(ctx, token) }] : []),
    { title: "No answer", action_id: "rejected", value: token },
  ];
}
