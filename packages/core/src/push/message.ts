import { createHash } from "node:crypto";
import { QUESTION, questionOf } from "../approval/question.ts";
import type { Due } from "../channel/kind.ts";
import { decisionTokenOf, toConsoleLink, toDecideLink } from "../channel/links.ts";
import { testItem, toSummary } from "../channel/message.ts";
import type { Context } from "../context/context.ts";
import { toText, toTitle } from "../people/notification-text.ts";
import { truncate } from "../values/text.ts";
import { MAX_MESSAGE_BYTES } from "./encrypt.ts";

/** What the service worker of the console reads (packages/console/src/worker/worker.ts). */
interface PushMessage {
  title: string;
  body: string;
  /** If a later message has the same tag, it replaces this notification. */
  tag: string;
  /** The path that a click opens, without the host. */
  url: string;
  /** Buttons that decide without opening a page. */
  decision?: { token: string; buttons: Button[] };
}

interface Button {
  title: string;
  status: "approved" | "rejected";
  option?: string;
}

const MAX_TITLE_CHARS = 160;
const MAX_BODY_CHARS = 400;
/** Platforms show at most this many buttons. */
const MAX_BUTTONS = 2;
const TOPIC_CHARS = 32;

/** Returns the text of a push message. It is cut, so that it stays below the limit no matter how long the quoted texts are. */
export function toPushText(ctx: Context, due: readonly Due[]): string {
  const message = due.length === 1 ? toPushMessage(ctx, due[0]!) : toSummaryMessage(due);
  return within(message);
}

export const testPushText = (ctx: Context): string => {
  const { title, text, open_url } = testItem(ctx);
  return within({ title, body: text!, tag: "test", url: toPath(open_url) });
};

function within(message: PushMessage): string {
  const text = JSON.stringify(message);
  return Buffer.byteLength(text) <= MAX_MESSAGE_BYTES ? text : JSON.stringify({ ...message, body: "" });
}

function toSummaryMessage(due: readonly Due[]): PushMessage {
  const titles = due.map(toTitle);
  return { title: toSummary(titles), body: truncate(titles.join("\n"), MAX_BODY_CHARS), tag: "summary", url: "/#/inbox" };
}

function toPushMessage(ctx: Context, due: Due): PushMessage {
  const title = truncate(toTitle(due), MAX_TITLE_CHARS);
  const lines = [due.board_name, toText(due)].filter((line) => line !== null);
  const token = decisionTokenOf(ctx, due);
  const base = { title, body: truncate(lines.join("\n"), MAX_BODY_CHARS), tag: due.subject_id };
  if (token === null) return { ...base, url: toPath(toConsoleLink(ctx, due)) };
  return { ...base, url: toPath(toDecideLink(ctx, token)), decision: { token, buttons: toButtons(due) } };
}

/**
 * Returns the buttons of a decision. A question has its options as buttons if there are exactly two. Any other question is answered
 * on the page that a click opens.
 */
function toButtons({ type, approval }: Due): Button[] {
  if (type !== "question.asked")
    return [
      { title: "Approve", status: "approved" },
      { title: "Reject", status: "rejected" },
    ];
  const { options } = questionOf({ action_type: QUESTION, payload: approval?.offer ?? null });
  if (options.length !== MAX_BUTTONS) return [];
  return options.map((option) => ({ title: option, status: "approved", option }));
}

const toPath = (address: string): string => {
  const { pathname, search, hash } = new URL(address);
  return pathname + search + hash;
};

/**
 * Returns the topic of a message. While a browser is not connected, a later message with the same topic replaces the earlier one.
 */
export const toTopic = ({ subject_id }: Due): string =>
  createHash("sha256").update(`topic:${subject_id}`).digest("base64url").slice(0, TOPIC_CHARS);
