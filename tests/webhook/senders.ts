import { createHmac } from "node:crypto";
import { sign as signForGitHub } from "@octokit/webhooks-methods";
import { Webhook as StandardWebhook } from "standardwebhooks";
import Stripe from "stripe";
import { SOURCE_NAMES } from "@board/core/schema/webhook.sql";

export type SourceName = Exclude<(typeof SOURCE_NAMES)[number], "generic">;

/**
 * A delivery as the sender makes it: signed by the sender's own library if that is small, otherwise as its documentation
 * describes.
 */
export interface Sender {
  secret: string;
  event_type: string;
  summary: string;
  /** The id that the service must store for the delivery. */
  delivery_id: string;
  /** The name of the header of the signature or credential. */
  signature_header: string;
  /** Whether a signature has a time. */
  is_timed: boolean;
  body(sent_at: Date): string;
  headers(body: string, sent_at: Date, secret: string): Promise<Record<string, string>> | Record<string, string>;
}

const JSON_TYPE = { "content-type": "application/json" };
const hex = (secret: string, text: string) => createHmac("sha256", secret).update(text).digest("hex");
const seconds = (time: Date) => Math.floor(time.getTime() / 1_000);
const stripeClient = new Stripe("sk_test_none");

/** Bodies are shortened from the examples of the senders' documentation. */
export const SENDERS: Readonly<Record<SourceName, Sender>> = {
  github: {
    secret: "It's a Secret to Everybody",
    event_type: "issues.opened",
    summary: "GitHub issues.opened: #1347 Found a bug in octocat/Hello-World by octocat",
    delivery_id: "72d3162e-cc78-11e3-81ab-4c9367dc0958",
    signature_header: "x-hub-signature-256",
    is_timed: false,
    body: () =>
      JSON.stringify({
        action: "opened",
        issue: { url: "https://api.github.com/repos/octocat/Hello-World/issues/1347", number: 1347, title: "Found a bug" },
        repository: { id: 1296269, full_name: "octocat/Hello-World", owner: { login: "octocat", id: 1 } },
        sender: { login: "octocat", id: 1 },
      }),
    headers: async (body, _sent_at, secret) => ({
      ...JSON_TYPE,
      "user-agent": "GitHub-Hookshot/044aadd",
      "x-github-delivery": SENDERS.github.delivery_id,
      "x-github-event": "issues",
      "x-hub-signature-256": await signForGitHub(secret, body),
    }),
  },
  gitlab: {
    secret: "a token of GitLab",
    event_type: "push",
    summary: "GitLab push: 4 commits to mike/diaspora by jsmith",
    delivery_id: "f5e5f430-f57b-4e6e-9fac-d9128cd7232f",
    signature_header: "x-gitlab-token",
    is_timed: false,
    body: () =>
      JSON.stringify({
        object_kind: "push",
        event_name: "push",
        ref: "refs/heads/master",
        user_username: "jsmith",
        project: { id: 15, name: "Diaspora", path_with_namespace: "mike/diaspora" },
        total_commits_count: 4,
      }),
    headers: (_body, _sent_at, secret) => ({
      ...JSON_TYPE,
      "user-agent": "GitLab/15.5.0-pre",
      "idempotency-key": SENDERS.gitlab.delivery_id,
      "x-gitlab-event": "Push Hook",
      "x-gitlab-token": secret,
    }),
  },
  stripe: {
    secret: "whsec_test_secret",
    event_type: "setup_intent.created",
    summary: "Stripe setup_intent.created: setup_intent seti_1NG8Du2eZvKYlo2C9XMqbR0x (test mode)",
    delivery_id: "evt_1NG8Du2eZvKYlo2CUI79vXWy",
    signature_header: "stripe-signature",
    is_timed: true,
    body: () =>
      JSON.stringify({
        id: "evt_1NG8Du2eZvKYlo2CUI79vXWy",
        object: "event",
        data: { object: { id: "seti_1NG8Du2eZvKYlo2C9XMqbR0x", object: "setup_intent" } },
        livemode: false,
        type: "setup_intent.created",
      }),
    headers: (payload, sent_at, secret) => ({
      ...JSON_TYPE,
      "stripe-signature": stripeClient.webhooks.generateTestHeaderString({ payload, secret, timestamp: seconds(sent_at) }),
    }),
  },
  slack: {
    secret: "8f742231b10e8888abcd99yyyzzz85a5",
    event_type: "app_mention",
    summary: "Slack app_mention: <@U0LAN0Z89> is it everything a river should be? in C123ABC456 by U061F7AUR",
    delivery_id: "Ev123ABC456",
    signature_header: "x-slack-signature",
    is_timed: true,
    body: () =>
      JSON.stringify({
        token: "ZZZZZZWSxiZZZ2yIvs3peJ",
        team_id: "T123ABC456",
        event: {
          type: "app_mention",
          user: "U061F7AUR",
          text: "<@U0LAN0Z89> is it everything a river should be?",
          channel: "C123ABC456",
        },
        type: "event_callback",
        event_id: "Ev123ABC456",
        event_time: 1515449522,
      }),
    headers: (body, sent_at, secret) => ({
      ...JSON_TYPE,
      "x-slack-request-timestamp": String(seconds(sent_at)),
      "x-slack-signature": `v0=${hex(secret, `v0:${seconds(sent_at)}:${body}`)}`,
    }),
  },
  linear: {
    secret: "lin_wh_secret",
    event_type: "Issue.create",
    summary: "Linear Issue.create: ENG-12 Add a dark theme by Ada",
    delivery_id: "234d1a4e-b617-4388-90fe-adc3633d6b72",
    signature_header: "linear-signature",
    is_timed: true,
    body: (sent_at) =>
      JSON.stringify({
        action: "create",
        type: "Issue",
        actor: { id: "b5ea5f1f-8adc-4f52-b4bd-ab4e9f7c1a05", type: "user", name: "Ada" },
        data: { id: "2174add1-f7c8-44e3-bbf3-2d60b5ea8bc9", identifier: "ENG-12", title: "Add a dark theme" },
        webhookTimestamp: sent_at.getTime(),
      }),
    headers: (body, _sent_at, secret) => ({
      "content-type": "application/json; charset=utf-8",
      "user-agent": "Linear-Webhook",
      "linear-delivery": SENDERS.linear.delivery_id,
      "linear-event": "Issue",
      "linear-signature": hex(secret, body),
    }),
  },
  sentry: {
    secret: "the client secret of an integration",
    event_type: "issue.created",
    summary: "Sentry issue.created: Error #1: This is a test error! in ts-node by Sentry",
    delivery_id: "b4e1b9a1-6c5d-4d43-a3a5-2f0b1a3d8f10",
    signature_header: "sentry-hook-signature",
    is_timed: true,
    body: () =>
      JSON.stringify({
        action: "created",
        installation: { uuid: "24b3d7b2-6b50-4f0f-8b7e-5d33c5a5a4c0" },
        data: { issue: { id: "1170820242", title: "Error #1: This is a test error!", project: { slug: "ts-node" } } },
        actor: { type: "application", id: "sentry", name: "Sentry" },
      }),
    headers: (body, sent_at, secret) => ({
      ...JSON_TYPE,
      "request-id": SENDERS.sentry.delivery_id,
      "sentry-hook-resource": "issue",
      "sentry-hook-timestamp": String(seconds(sent_at)),
      "sentry-hook-signature": hex(secret, body),
    }),
  },
  standard_webhooks: {
    secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    event_type: "contact.created",
    summary: "Event contact.created",
    delivery_id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
    signature_header: "webhook-signature",
    is_timed: true,
    body: (sent_at) =>
      JSON.stringify({ type: "contact.created", timestamp: sent_at.toISOString(), data: { id: "1f81eb52-5198-4599-803e" } }),
    headers: (body, sent_at, secret) => ({
      ...JSON_TYPE,
      "webhook-id": SENDERS.standard_webhooks.delivery_id,
      "webhook-timestamp": String(seconds(sent_at)),
      "webhook-signature": new StandardWebhook(secret).sign(SENDERS.standard_webhooks.delivery_id, sent_at, body),
    }),
  },
};

export const SENDER_NAMES = Object.keys(SENDERS) as SourceName[];

interface Delivery {
  body: string;
  headers: Record<string, string>;
}

/** Returns a signed delivery of a sender. */
export async function deliveryOf(name: SourceName, sent_at: Date, secret = SENDERS[name].secret): Promise<Delivery> {
  const body = SENDERS[name].body(sent_at);
  return { body, headers: await SENDERS[name].headers(body, sent_at, secret) };
}
