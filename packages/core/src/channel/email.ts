import type { Mail } from "../context/mailer.ts";
import { type ChannelItem, escapeHtml, toSummary } from "./message.ts";

const quoted = (text: string): string =>
  text
    .split(/\r\n|[\n\r\u2028\u2029]/)
    .map((line) => `> ${line}`)
    .join("\n");

function itemText({ title, text, board_name, decide_url, open_url }: ChannelItem): string {
  return [
    title,
    ...(board_name === null ? [] : [`Board: ${board_name}`]),
    ...(text === null ? [] : ["", quoted(text), ""]),
    ...(decide_url === null ? [] : [`Decide: ${decide_url}`]),
    `Open: ${open_url}`,
  ].join("\n");
}

const LINK = "color:#2457c5";
const BUTTON =
  "display:inline-block;padding:10px 18px;border-radius:6px;background:#2457c5;color:#ffffff;text-decoration:none;font-weight:600";

function itemHtml({ title, text, board_name, decide_url, open_url }: ChannelItem): string {
  const board = board_name === null ? "" : `<p style="margin:0 0 12px;color:#5a6270">${escapeHtml(board_name)}</p>`;
  const words =
    text === null
      ? ""
      : `<blockquote style="margin:0 0 16px;padding:8px 14px;border-left:3px solid #c8cdd5;white-space:pre-wrap;overflow-wrap:anywhere">${escapeHtml(text)}</blockquote>`;
  const decide =
    decide_url === null ? "" : `<p style="margin:0 0 12px"><a href="${escapeHtml(decide_url)}" style="${BUTTON}">Decide</a></p>`;
  const open = `<p style="margin:0"><a href="${escapeHtml(open_url)}" style="${LINK}">Open in the console</a></p>`;
  return `<h2 style="margin:0 0 4px;font-size:18px;line-height:1.35;overflow-wrap:anywhere">${escapeHtml(title)}</h2>${board}${words}${decide}${open}`;
}

/**
 * Returns a mail with one or several notifications. All texts of other people are quoted, and the mail loads nothing from the
 * network.
 */
export function toMail(
  items: readonly ChannelItem[],
  { to, id, unsubscribe_url }: Pick<Mail, "to" | "id" | "unsubscribe_url">,
): Mail {
  const subject = toSummary(items.map(({ title }) => title));
  const end = `You get this because of your settings. Stop these mails: ${unsubscribe_url}`;
  const blocks = items.map((item) => `<div style="padding:20px 0;border-bottom:1px solid #e3e6eb">${itemHtml(item)}</div>`);
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escapeHtml(subject)}</title></head>
<body style="margin:0;background:#ffffff;color:#1c2330;font:16px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif"><div style="max-width:600px;margin:0 auto;padding:8px 20px 24px">${blocks.join("")}
<p style="margin:16px 0 0;color:#5a6270;font-size:13px">You get this because of your settings. <a href="${escapeHtml(unsubscribe_url ?? "")}" style="${LINK}">Stop these mails</a></p></div></body></html>`;
  const text = [...items.map(itemText), end].join("\n\n--\n\n");
  return { to, subject, text, html, ...(unsubscribe_url ? { unsubscribe_url } : {}), ...(id ? { id } : {}) };
}
