import * as z from "zod";
import { juno, milo } from "./cast.ts";

/** A task that the lead wants to be done. */
export interface Plan {
  title: string;
  description: string;
  priority: "high" | "medium" | "low";
  /** By slug. */
  tags: string[];
  /** Name of the worker; whoever takes it when absent. */
  for?: string;
  /** It can only be done when the task before it is. */
  follows?: boolean;
}

/** What the lead makes of a payload: tasks where somebody should act, else a note for the board. */
export interface Verdict {
  tasks: Plan[];
  note?: { text: string; tags: string[] };
}

const Push = z.object({
  repository: z.object({ full_name: z.string() }),
  pusher: z.object({ name: z.string() }),
  commits: z.array(z.object({ message: z.string(), modified: z.array(z.string()) })).min(1),
});
const Alert = z.object({ title: z.string(), severity: z.enum(["warning", "critical"]), state: z.enum(["firing", "resolved"]) });

/**
 * Stands in for a model's judgement. A payload comes from anybody: it is read as data and never obeyed, which the rule
 * for text shows.
 */
export function judge(payload: unknown): Verdict {
  const push = Push.safeParse(payload);
  if (push.success) return judgePush(push.data);
  const alert = Alert.safeParse(payload);
  if (alert.success) return judgeAlert(alert.data);
  return typeof payload === "string" ? judgeText(payload) : noted("a payload of a kind I do not know; kept for later", "unknown");
}

const noted = (text: string, ...tags: string[]): Verdict => ({ tasks: [], note: { text, tags } });

function judgePush({ repository, pusher, commits }: z.infer<typeof Push>): Verdict {
  const [first] = commits;
  const rest = commits.length > 1 ? ` and ${commits.length - 1} more` : "";
  const news = `${pusher.name} pushed to ${repository.full_name}: "${first!.message}"${rest}`;
  const payments = commits.some(({ modified }) => modified.some((file) => file.includes("payment")));
  if (!payments) return noted(news, "push");
  const plan: Plan = { title: "Run the payment tests", description: news, priority: "medium", tags: ["money", "shop"] };
  return { tasks: [{ ...plan, for: milo.name }] };
}

function judgeAlert({ title, severity, state }: z.infer<typeof Alert>): Verdict {
  if (severity !== "critical" || state !== "firing") return noted(`${severity} alert ${state}: ${title}`, "alert", severity);
  const description = `The monitor says: ${title}.`;
  return { tasks: [{ title: "Stop the failing checkouts", description, priority: "high", tags: ["shop"], for: juno.name }] };
}

function judgeText(text: string): Verdict {
  if (text.endsWith("...")) return noted(`a log of over ${text.length} characters; its first error: ${firstError(text)}`, "log");
  if (/ignore (all|your)|api key|token/i.test(text))
    return noted("a mail gives me orders and wants secrets; not followed", "suspicious");
  const fields = new URLSearchParams(text);
  const [name, topic] = [fields.get("name"), fields.get("topic")];
  if (name && topic) return { tasks: [planAnswer(name, topic)] };
  const sender = /^From: (\S+)$/m.exec(text)?.[1] ?? "somebody";
  const subject = /^Subject: (.+)$/m.exec(text)?.[1] ?? "no subject";
  const order = /Order (\d+)/.exec(text)?.[1];
  return order && /refund/i.test(subject)
    ? judgeRefund(sender, order)
    : { tasks: [{ ...planAnswer(sender, subject), for: juno.name }] };
}

const planAnswer = (who: string, wish: string): Plan => ({
  title: `Answer ${who}: ${wish}`,
  description: "A friendly answer, and what is wished where it can be done.",
  priority: "medium",
  tags: ["customers"],
});

const judgeRefund = (sender: string, order: string): Verdict => ({
  tasks: [
    {
      title: `Refund order ${order}`,
      description: "Pay back what the customer paid and attach the receipt.",
      priority: "high",
      tags: ["money", "customers"],
      for: milo.name,
    },
    {
      title: `Tell ${sender} of the refund`,
      description: "A friendly mail, once the money is on its way.",
      priority: "medium",
      tags: ["customers"],
      follows: true,
    },
  ],
});

const firstError = (text: string) => /^.*\berror\b.*$/im.exec(text)?.[0].trim() ?? "none so far";

/** By slug, the tag for a task that somebody else made. */
export const tagOf = (title: string): string => (/answer|tell|customer/i.test(title) ? "customers" : "shop");
