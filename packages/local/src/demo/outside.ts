import { createHmac } from "node:crypto";
import type { BoardWebhookAccepted } from "@board/client/api";
import { customer, github, monitor } from "./cast.ts";
import type { Who } from "./screen.ts";
import type { Door, Setting } from "./setting.ts";
import type { Stage } from "./stage.ts";

/** What an outside system posts. */
export interface Post {
  who: Who;
  door: keyof Setting["doors"];
  /** For the log: what it is, and what it says. */
  subject: string;
  detail: string;
  content_type: string;
  body: string;
  headers?: Record<string, string>;
}

/** Posts as an outside system does: no credential, a signature where the webhook wants one. Returns the payload's id. */
export async function send({ url, screen, tally, over }: Stage, door: Door, post: Post, secret = door.secret): Promise<string> {
  const signature = secret && {
    [door.signature_header]: `sha256=${createHmac("sha256", secret).update(post.body).digest("hex")}`,
  };
  const response = await fetch(url + door.path, {
    method: "POST",
    headers: { "content-type": post.content_type, ...post.headers, ...signature },
    body: post.body,
    signal: over,
  });
  const answer = (await response.json()) as BoardWebhookAccepted & { detail?: string };
  if (response.status === 202) tally.accepted(answer.payload_id, post.subject);
  else tally.refused();
  screen.tell(post.who, `${post.subject}: ${post.detail} → ${response.status}${answer.detail ? ` ${answer.detail}` : ""}`);
  return answer.payload_id;
}

export function push(author: string, commits: { message: string; modified: string[] }[]): Post {
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
    door: "github",
    subject: `push by ${author}`,
    detail: `${commits.length === 1 ? "1 commit" : `${commits.length} commits`} to acme/shop`,
    content_type: "application/json",
    body: JSON.stringify(body),
    headers: { "user-agent": "GitHub-Hookshot/4f1c2a9", "x-github-event": "push", "x-github-delivery": crypto.randomUUID() },
  };
}

export function alert(severity: "warning" | "critical", state: "firing" | "resolved", title: string): Post {
  const body = { title, severity, state, service: "checkout", labels: { region: "eu-west", env: "production" }, value: 7.25 };
  return {
    who: monitor,
    door: "alerts",
    subject: `${severity} alert`,
    detail: `${title}, ${state}`,
    content_type: "application/vnd.alert+json",
    body: JSON.stringify(body, null, 2),
    headers: { "user-agent": "Monitor/3.1" },
  };
}

export function mail(from: string, subject: string, text: string): Post {
  return {
    who: customer,
    door: "support",
    subject: `mail from ${from}`,
    detail: subject,
    content_type: "text/plain; charset=utf-8",
    body: `From: ${from}\nTo: help@shop.example\nSubject: ${subject}\n\n${text}\n`,
  };
}

export function form(name: string, topic: string, message: string): Post {
  return {
    who: customer,
    door: "support",
    subject: `form of ${name}`,
    detail: topic,
    content_type: "application/x-www-form-urlencoded",
    body: new URLSearchParams({ name, topic, message }).toString(),
  };
}
