import { QUESTION, questionOf } from "../approval/question.ts";
import type { Due } from "../channel/kind.ts";
import { decisionTokenOf, toConsoleLink, toDecideLink } from "../channel/links.ts";
import { toSummary } from "../channel/message.ts";
import type { Context } from "../context/context.ts";
import { toText, toTitle } from "../people/notification-text.ts";
import { ellipsize, toPlainText } from "../values/text.ts";

/** Slack's limits of characters: of a section, of a button, and of what is recommended for the text. */
const MAX_SECTION = 3_000;
const MAX_BUTTON = 75;
const MAX_SUMMARY = 1_000;
/** Three blocks each, of at most fifty in a message. */
export const MAX_ITEMS = 15;

export interface SlackMessage {
  /** What a notification of the phone shows. Slack reads it as its markup, so it is escaped. */
  text: string;
  blocks: object[];
}

/** A text of others as Slack shows it letter by letter: no link, no name and no emoji arises from it. */
export const plain = (text: string, max = MAX_SECTION) => ({
  type: "plain_text",
  text: ellipsize(toPlainText(text), max) || " ",
  emoji: false,
});

/** A text in which Slack finds no markup. */
export const escapeMarkup = (text: string): string =>
  ellipsize(toPlainText(text), MAX_SUMMARY).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

export const section = (text: string) => ({ type: "section", text: plain(text) });
export const remark = (text: string) => ({ type: "context", elements: [plain(text)] });

/** The action of an answer of a question. It names the place of the answer, because its text may be long. */
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

/** One message about notifications of a person, at most `MAX_ITEMS`. */
export function toSlackMessage(ctx: Context, due: readonly Due[]): SlackMessage {
  return {
    text: escapeMarkup(toSummary(due.map(toTitle))),
    blocks: due.flatMap((item) => itemBlocks(ctx, item)),
  };
}

function itemBlocks(ctx: Context, due: Due): object[] {
  const text = toText(due);
  const lines = [toTitle(due), ...(text === null ? [] : [text])];
  return [
    section(lines.join("\n\n")),
    ...(due.board_name === null ? [] : [remark(due.board_name)]),
    { type: "actions", elements: buttonsOf(ctx, due).map(button) },
  ];
}

function buttonsOf(ctx: Context, due: Due): Button[] {
  const token = decisionTokenOf(ctx, due);
  if (token === null) return [{ title: "Open", action_id: "open", url: toConsoleLink(ctx, due) }];
  if (due.type !== "question.asked")
    return [
      { title: "Approve", action_id: "approved", value: token, style: "primary" },
      { title: "Reject", action_id: "rejected", value: token, style: "danger" },
      { title: "Open", action_id: "open", url: toConsoleLink(ctx, due) },
    ];
  const { options, allow_text } = questionOf({ action_type: QUESTION, payload: due.approval?.offer ?? null });
  return [
    ...options.map((title, place) => ({ title, action_id: `option_${place}`, value: token })),
    ...(allow_text ? [{ title: "Answer in own words", action_id: "open", url: toDecideLink(ctx, token) }] : []),
    { title: "No answer", action_id: "rejected", value: token },
  ];
}
