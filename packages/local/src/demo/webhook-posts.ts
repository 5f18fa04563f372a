import { createHmac } from "node:crypto";
import type { BoardWebhookAccepted } from "@board/client/api";
import { customer, github, monitor } from "./participants.ts";
import type { Participant } from "./demo-log.ts";
import type { WebhookEndpoint, DemoBoard } from "./setup.ts";
import type { DemoContext } from "./demo-context.ts";

/** A post of an external system. */
export interface WebhookPost {
  who: Participant;
  webhook: keyof DemoBoard["webhooks"];
  /** Shown in the log. */
  subject: string;
  detail: string;
  content_type: string;
  body: string;
  headers?: Record<string, string>;
}

/** Posts without a credential, but signed if the webhook has a secret. Returns the id of the payload. */
export async function postToWebhook(
  { url, log, statistics, signal }: DemoContext,
  webhook: WebhookEndpoint,
  post: WebhookPost,
  secret = webhook.secret,
): Promise<string> {
  const signature = secret && {
    [webhook.signature_header]: `sha256=${createHmac("sha256", secret).update(post.body).digest("hex")}`,
  };
  const response = await fetch(url + webhook.path, {
    method: "POST",
    headers: { "content-type": post.content_type, ...post.headers, ...signature },
    body: post.body,
    signal,
  });
  const result = (await response.json()) as BoardWebhookAccepted & { detail?: string };
  if (response.status === 202) statistics.recordAcceptedPost(result.payload_id, post.subject);
  else statistics.recordRejectedPost();
  log.write(post.who, `${post.subject}: ${post.detail} → ${response.status}${result.detail ? ` ${result.detail}` : ""}`);
  return result.payload_id;
}

export function pushPost(author: string, commits: { message: string; modified: string[] }[]): WebhookPost {
  const body = {
    ref: "refs/heads/main",
    repository: { full_name: "acme/shop", default_branch: "main" },
    pusher: { name: author },
    commits: commits.map((commit, index) => ({
      id: `${index}`.padStart(40, "f"),
      author: { name: author },
      added: [],
      removed: [],
      ...commit,
    })),
  };
  return {
    who: github,
    webhook: "github",
    subject: `push by ${author}`,
    detail: `${commits.length === 1 ? "1 commit" : `${commits.length} commits`} to acme/shop`,
    content_type: "application/json",
    body: JSON.stringify(body),
    headers: { "user-agent": "GitHub-Hookshot/4f1c2a9", "x-github-event": "push", "x-github-delivery": crypto.randomUUID() },
  };
}

export function alertPost(severity: "warning" | "critical", state: "firing" | "resolved", title: string): WebhookPost {
  const body = { title, severity, state, service: "checkout", labels: { region: "eu-west", env: "production" }, value: 7.25 };
  return {
    who: monitor,
    webhook: "alerts",
    subject: `${severity} alert`,
    detail: `${title}, ${state}`,
    content_type: "application/vnd.alert+json",
    body: JSON.stringify(body, null, 2),
    headers: { "user-agent": "Monitor/3.1" },
  };
}

export function mailPost(from: string, subject: string, text: string): WebhookPost {
  return {
    who: customer,
    webhook: "support",
    subject: `email from ${from}`,
    detail: subject,
    content_type: "text/plain; charset=utf-8",
    body: `From: ${from}\nTo: help@shop.example\nSubject: ${subject}\n\n${text}\n`,
  };
}

export function formPost(name: string, topic: string, message: string): WebhookPost {
  return {
    who: customer,
    webhook: "support",
    subject: `form of ${name}`,
    detail: topic,
    content_type: "application/x-www-form-urlencoded",
    body: new URLSearchParams({ name, topic, message }).toString(),
  };
}
