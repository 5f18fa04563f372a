import type { DecisionPreview, DecisionResult } from "@board/core/channel/decision";
import { escapeHtml } from "@board/core/channel/message";

const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
};

const STYLE = `body{font:17px/1.5 system-ui,sans-serif;margin:0;color:#1c2330;background:#fff}main{max-width:34rem;margin:0 auto;padding:1.5rem}
h1{font-size:1.3rem;overflow-wrap:anywhere}.muted{color:#5a6270}blockquote{margin:0 0 1rem;padding:.5rem 1rem;border-left:3px solid #c8cdd5;white-space:pre-wrap;overflow-wrap:anywhere}
button{font:inherit;font-weight:600;min-height:3rem;padding:0 1.4rem;margin:0 .6rem .6rem 0;border-radius:.5rem;border:1px solid #8a93a3;background:#fff;color:inherit}
button.primary{background:#2457c5;border-color:#2457c5;color:#fff}label{display:block;padding:.5rem 0}textarea{font:inherit;width:100%;box-sizing:border-box}
@media(prefers-color-scheme:dark){body{background:#14181f;color:#e7eaf0}.muted{color:#a3abb8}button{background:#14181f}}`;

const toPage = (title: string, body: string): Response =>
  new Response(
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body><main>${body}</main></body></html>`,
    { headers: HEADERS },
  );

const DECIDED = { approved: "Approved", rejected: "Rejected", pending: "Not decided" } as const;

const outcome = ({ status, decided_by }: Pick<DecisionResult, "status" | "decided_by">) =>
  `<p>${DECIDED[status]}${decided_by === null ? "" : ` by ${escapeHtml(decided_by)}`}.</p>`;

/** Creates the page with the buttons for a decision. Opening the page decides nothing. */
export function decisionPage(token: string, preview: DecisionPreview): Response {
  const { action_type, description, board_name, status, question } = preview;
  const title = question ? "Question" : action_type;
  const words = description === null ? "" : `<blockquote dir="auto">${escapeHtml(description)}</blockquote>`;
  const head = `<h1 dir="auto">${escapeHtml(title)}</h1><p class="muted" dir="auto">${escapeHtml(board_name)}</p>${words}`;
  if (status !== "pending") return toPage(title, head + outcome(preview));
  const options = (question?.options ?? []).map(
    (option) =>
      `<label dir="auto"><input type="radio" name="option" value="${escapeHtml(option)}"> ${escapeHtml(option)}</label>`,
  );
  const text = question?.allow_text ? `<label>In your own words<textarea name="text" rows="3"></textarea></label>` : "";
  const [yes, no] = question ? ["Answer", "No answer"] : ["Approve", "Reject"];
  return toPage(
    title,
    `${head}<form method="post" action="/decide"><input type="hidden" name="token" value="${escapeHtml(token)}">${options.join("")}${text}
<button class="primary" name="status" value="approved">${yes}</button><button name="status" value="rejected">${no}</button></form>`,
  );
}

export function decidedPage(result: DecisionResult): Response {
  const late = result.is_first ? "" : "<p>It was decided before, so nothing has changed.</p>";
  return toPage(DECIDED[result.status], `<h1>${DECIDED[result.status]}</h1>${outcome(result)}${late}`);
}

export const unsubscribePage = (token: string): Response =>
  toPage(
    "Stop these mails",
    `<h1>Stop these mails?</h1><p>The console still shows what happens.</p><form method="post" action="/unsubscribe?token=${escapeHtml(encodeURIComponent(token))}"><button class="primary">Stop these mails</button></form>`,
  );

export const unsubscribedPage = (): Response =>
  toPage(
    "Stopped",
    "<h1>Stopped</h1><p>You will get no more of these mails. You can turn them on again in the settings of the console.</p>",
  );
