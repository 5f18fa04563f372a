// The service worker. It shows push messages. When a person presses a button in a message, it sends the decision. It does not
// handle the page's requests, and it stores nothing.
export {};
declare const self: ServiceWorkerGlobalScope;

/** What the service sends (packages/core/src/push/message.ts). */
interface PushMessage {
  title: string;
  body: string;
  tag: string;
  url: string;
  decision?: Decision;
}

interface Decision {
  token: string;
  buttons: Button[];
}

interface Button {
  title: string;
  status: "approved" | "rejected";
  option?: string;
}

/** The data that a notification carries until it is clicked. */
interface Kept {
  url: string;
  title: string;
  decision?: Decision;
}

interface Result {
  status: string;
  decided_by: string | null;
  is_first: boolean;
}

/** TypeScript's library has no types for these two fields, because not every platform supports them. */
type Options = NotificationOptions & { renotify?: boolean; actions?: { action: string; title: string }[] };

const LOOK = { icon: "/icons/icon-192.png", badge: "/icons/badge-96.png" };
const UNREADABLE: PushMessage = { title: "Something happened on your boards", body: "", tag: "summary", url: "/#/inbox" };

// A new version replaces the previous one at once, because no page depends on which version runs.
self.addEventListener("install", () => void self.skipWaiting());
self.addEventListener("push", (event) => event.waitUntil(show(readMessage(event))));
self.addEventListener("notificationclick", (event) => event.waitUntil(click(event)));

/** Reads a push message. An unreadable message gets a general text, because a browser may end a subscription that shows nothing. */
function readMessage({ data }: PushEvent): PushMessage {
  try {
    return (data?.json() as PushMessage | undefined) ?? UNREADABLE;
  } catch {
    return UNREADABLE;
  }
}

async function show({ title, body, tag, url, decision }: PushMessage): Promise<void> {
  const kept: Kept = { url, title, ...(decision && { decision }) };
  const actions = (decision?.buttons ?? []).map((button, index) => ({ action: String(index), title: button.title }));
  const options: Options = { ...LOOK, body, tag, renotify: true, data: kept, actions };
  await self.registration.showNotification(title, options);
  for (const page of await readPages()) page.postMessage({ type: "notified" });
}

async function click({ notification, action }: NotificationEvent): Promise<void> {
  notification.close();
  const kept = notification.data as Kept;
  const button = action === "" ? undefined : kept.decision?.buttons[Number(action)];
  return kept.decision && button ? decide(kept, kept.decision.token, button) : open(kept.url);
}

/** Returns the open windows of the console. */
async function readPages(): Promise<WindowClient[]> {
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  return pages.filter(({ url }) => new URL(url).pathname === "/");
}

async function open(url: string): Promise<void> {
  const [page] = url.startsWith("/#/") ? await readPages() : [];
  if (page) {
    page.postMessage({ type: "open", url });
    await page.focus();
  } else await self.clients.openWindow(new URL(url, self.location.origin));
}

/** Sends a decision. The token identifies the person, so that nobody has to be signed in. A message with the outcome follows. */
async function decide(kept: Kept, token: string, { status, option }: Button): Promise<void> {
  let text: string;
  try {
    const answer = await fetch("/api/v1/decisions", {
      method: "POST",
      credentials: "omit",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token, status, ...(option !== undefined && { answer: { option } }) }),
    });
    if (answer.ok) return await tell(toOutcome((await answer.json()) as Result), { ...kept, url: "/#/inbox" });
    text = answer.status === 404 ? "Not decided: this button is no longer valid" : "Not decided";
  } catch {
    text = "Not decided: the service was not reached";
  }
  await tell(`${text}. Open it to try again.`, kept);
}

/** Describes the result of a decision in a sentence. */
function toOutcome({ status, decided_by, is_first }: Result): string {
  const [first = "", ...rest] = status;
  if (is_first) return `${first.toUpperCase()}${rest.join("")}.`;
  if (status === "pending") return "Not decided: this button was used before.";
  return `Already ${status}${decided_by === null ? "" : ` by ${decided_by}`}.`;
}

async function tell(outcome: string, { title, url }: Kept): Promise<void> {
  const data: Kept = { url, title };
  await self.registration.showNotification(outcome, { ...LOOK, body: title, tag: `outcome:${title}`, silent: true, data });
  for (const page of await readPages()) page.postMessage({ type: "notified" });
}
