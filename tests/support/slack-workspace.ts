import { createHmac, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { HttpClient, HttpResponse } from "@board/core/context/http-client";

// oxlint-disable-next-line typescript/no-explicit-any -- the message is what the service sent
type Json = any;

interface PostedMessage {
  /** The user to whom it was posted. */
  channel: string;
  message: Json;
  /** Slack's identifiers of the message. */
  conversation: string;
  ts: string;
  /** The message after all replacements. */
  shown: Json;
}

type Refusal = { error: string } | { status: number; headers?: Record<string, string> } | null;

export interface SlackWorkspace {
  team_id: string;
  bot_token: string;
  signing_secret: string;
  /** The messages of a Slack user, in the order in which they came. */
  messagesTo(user_id: string): Json[];
  /** What the messages of a Slack user show after all replacements. */
  shownTo(user_id: string): Json[];
  /** Calls of `chat.postMessage`, refused ones included. */
  countPosts(): number;
  /** Calls of `chat.update`, refused ones included. */
  countUpdates(): number;
  /** The answers that were posted to the address of a button. */
  answersTo(response_url: string): Json[];
  /** Makes the workspace answer `chat.postMessage` with an error, or with a status. Null accepts messages again. */
  refuse(answer: Refusal): void;
  /** Like `refuse`, for `chat.update`. */
  refuseUpdates(answer: Refusal): void;
  /** Like `refuse`, for answers that are posted to the address of a button. */
  refuseAnswers(answer: Refusal): void;
  /** Runs `work` when the workspace has the next message and has not answered yet. */
  whilePosting(work: (user_id: string) => Promise<unknown>): void;
  /** Returns the body and the headers of a request as Slack sends it. */
  sign(form: Record<string, string>, at: Date, secret?: string): { raw: string; headers: Record<string, string> };
  /** Returns the form that Slack sends when a button is pressed. */
  press(user_id: string, button: Json): { payload: string; response_url: string };
  /** The HTTP client of a world, which sends posts for Slack to this workspace and reaches nothing else. */
  web: HttpClient;
  close(): Promise<void>;
}

const LIMITS = { section: 3_000, context: 3_000, button: 75, value: 2_000, action_id: 255, url: 3_000, blocks: 50, elements: 25 };

/** Returns the first rule of Slack that a message breaks, or null (https://docs.slack.dev/reference/block-kit/blocks). */
function findMessageError({ text, blocks }: Json): string | null {
  if (typeof text !== "string" || text === "") return "no_text";
  if (!Array.isArray(blocks) || blocks.length === 0 || blocks.length > LIMITS.blocks) return "invalid_blocks";
  return blocks.map(findBlockError).find((error) => error !== null) ?? null;
}

function findBlockError(block: Json): string | null {
  const isText = ({ type, text }: Json, max: number) =>
    (type === "plain_text" || type === "mrkdwn") && typeof text === "string" && text.length > 0 && text.length <= max;
  if (block.type === "section") return isText(block.text, LIMITS.section) ? null : "invalid_section";
  if (block.type === "context")
    return block.elements.length <= 10 && block.elements.every((element: Json) => isText(element, LIMITS.context))
      ? null
      : "invalid_context";
  if (block.type !== "actions" || block.elements.length === 0 || block.elements.length > LIMITS.elements) return "invalid_blocks";
  const ids = block.elements.map(({ action_id }: Json) => action_id);
  if (new Set(ids).size !== ids.length) return "duplicate_action_id";
  const isButton = ({ type, text, action_id, value = "", url = "", style = "primary" }: Json) =>
    type === "button" &&
    text.type === "plain_text" &&
    isText(text, LIMITS.button) &&
    action_id.length <= LIMITS.action_id &&
    value.length <= LIMITS.value &&
    url.length <= LIMITS.url &&
    ["primary", "danger"].includes(style);
  return block.elements.every(isButton) ? null : "invalid_button";
}

/** Starts a Slack workspace on loopback: its Web API, and the addresses for answers to buttons. */
export async function startSlackWorkspace(): Promise<SlackWorkspace> {
  const team_id = `T${randomBytes(4).toString("hex").toUpperCase()}`;
  const bot_token = `xoxb-${randomBytes(12).toString("hex")}`;
  const signing_secret = randomBytes(16).toString("hex");
  const posted: PostedMessage[] = [];
  const answers = new Map<string, Json[]>();
  /** The messages whose buttons were pressed, by the address of the answer. */
  const pressed = new Map<string, PostedMessage>();
  const refusals: Record<"post" | "update" | "answer", Refusal> = { post: null, update: null, answer: null };
  let posts = 0;
  let updates = 0;
  let during: ((user_id: string) => Promise<unknown>) | null = null;
  const reply = (response: ServerResponse, body: object) =>
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));

  /** Sends the refusal that the test has set, if any, and returns whether it did. */
  function isRefused(response: ServerResponse, refusal: Refusal): boolean {
    if (!refusal) return false;
    if ("status" in refusal) response.writeHead(refusal.status, refusal.headers).end();
    else reply(response, { ok: false, error: refusal.error });
    return true;
  }

  /**
   * Replaces the message that has this `ts` in this conversation. The id of a user is no conversation, so it finds no message
   * (https://docs.slack.dev/reference/methods/chat.update).
   */
  function update({ channel, ts, ...message }: Json): object {
    const known = posted.find(({ conversation }) => conversation === channel);
    if (!known) return { ok: false, error: "channel_not_found" };
    const found = posted.find((candidate) => candidate.conversation === channel && candidate.ts === ts);
    if (!found) return { ok: false, error: "message_not_found" };
    const error = findMessageError(message);
    if (error) return { ok: false, error };
    found.shown = message;
    return { ok: true, channel, ts, text: message.text };
  }

  async function handleMethod(request: IncomingMessage, response: ServerResponse, method: string): Promise<void> {
    const body = JSON.parse((await buffer(request)).toString("utf8"));
    if (!request.headers["content-type"]?.startsWith("application/json"))
      return void reply(response, { ok: false, error: "invalid_post_type" });
    if (request.headers.authorization !== `Bearer ${bot_token}`)
      return void reply(response, { ok: false, error: "invalid_auth" });
    if (method === "auth.test") return void reply(response, { ok: true, team: "Acme", team_id, user: "board", user_id: "UBOT" });
    if (method === "chat.update") {
      updates += 1;
      if (!isRefused(response, refusals.update)) reply(response, update(body));
      return;
    }
    if (method !== "chat.postMessage") return void reply(response, { ok: false, error: "unknown_method" });
    posts += 1;
    const work = during;
    during = null;
    await work?.(body.channel);
    if (isRefused(response, refusals.post)) return;
    const error = findMessageError(body);
    if (error) return void reply(response, { ok: false, error });
    const conversation = `D${body.channel}`;
    const ts = `1700000000.${String(posts).padStart(6, "0")}`;
    posted.push({ channel: body.channel, message: body, conversation, ts, shown: body });
    reply(response, { ok: true, channel: conversation, ts, message: body });
  }

  async function handleAnswer(request: IncomingMessage, response: ServerResponse, url: string): Promise<void> {
    const known = answers.get(url);
    if (!known || known.length >= 5) return void response.writeHead(404).end();
    const answer = JSON.parse((await buffer(request)).toString("utf8"));
    if (isRefused(response, refusals.answer)) return;
    known.push(answer);
    const message = pressed.get(url);
    if (message && answer.replace_original) message.shown = answer;
    response.writeHead(200).end("ok");
  }

  const server = createServer((request, response) => {
    const { url = "", headers } = request;
    if (headers["x-meant-for"] === "slack.com") void handleMethod(request, response, url.replace("/api/", ""));
    else void handleAnswer(request, response, `https://hooks.slack.com${url}`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    team_id,
    bot_token,
    signing_secret,
    messagesTo: (user_id) => posted.filter(({ channel }) => channel === user_id).map(({ message }) => message),
    shownTo: (user_id) => posted.filter(({ channel }) => channel === user_id).map(({ shown }) => shown),
    countPosts: () => posts,
    countUpdates: () => updates,
    answersTo: (url) => answers.get(url) ?? [],
    refuse: (answer) => void (refusals.post = answer),
    refuseUpdates: (answer) => void (refusals.update = answer),
    refuseAnswers: (answer) => void (refusals.answer = answer),
    whilePosting: (work) => void (during = work),
    sign(form, at, secret = signing_secret) {
      const raw = new URLSearchParams(form).toString();
      const time = String(Math.floor(at.getTime() / 1000));
      const signature = `v0=${createHmac("sha256", secret).update(`v0:${time}:${raw}`).digest("hex")}`;
      const headers = {
        "content-type": "application/x-www-form-urlencoded",
        "x-slack-request-timestamp": time,
        "x-slack-signature": signature,
      };
      return { raw, headers };
    },
    press(user_id, { action_id, value, url }) {
      const response_url = `https://hooks.slack.com/actions/${team_id}/${randomBytes(8).toString("hex")}`;
      answers.set(response_url, []);
      const message = posted.find(({ shown }) => value !== undefined && JSON.stringify(shown).includes(value));
      if (message) pressed.set(response_url, message);
      const action = {
        type: "button",
        block_id: "b",
        action_id,
        action_ts: "1",
        ...(value ? { value } : {}),
        ...(url ? { url } : {}),
      };
      const payload = {
        type: "block_actions",
        team: { id: team_id, domain: "acme" },
        user: { id: user_id, username: "ann" },
        api_app_id: "A1",
        token: "old",
        response_url,
        ...(message ? { container: { type: "message", message_ts: message.ts, channel_id: message.conversation } } : {}),
        actions: [action],
      };
      return { payload: JSON.stringify(payload), response_url };
    },
    web: {
      get: () => Promise.reject(new Error("The fake Slack accepts POST only.")),
      checkReceiver: async () => {},
      post: (url, { headers, body }) => forward(origin, url, headers, body as string),
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function forward(origin: string, url: string, headers: Record<string, string>, body: string): Promise<HttpResponse> {
  const { protocol, host, pathname } = new URL(url);
  if (protocol !== "https:" || !["slack.com", "hooks.slack.com"].includes(host)) throw new Error(`${url} is not Slack's.`);
  const response = await fetch(origin + pathname, { method: "POST", headers: { ...headers, "x-meant-for": host }, body });
  const bytes = new Uint8Array(await response.arrayBuffer());
  return { status: response.status, headers: Object.fromEntries(response.headers), body: only(bytes) };
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield bytes;
}
