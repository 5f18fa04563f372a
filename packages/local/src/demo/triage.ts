import * as z from "zod";
import { juno, milo } from "./participants.ts";

/** A task that the lead is going to create. */
export interface TaskPlan {
  title: string;
  description: string;
  priority: "high" | "medium" | "low";
  /** Slugs of tags. */
  tags: string[];
  /** Name of the worker. Without a name, any worker may claim the task. */
  worker_name?: string;
  /** Whether the task depends on the task before it. */
  depends_on_previous?: boolean;
}

/** The result of triaging a payload: tasks if an action is needed, else a note for board memory. */
export interface TriageResult {
  tasks: TaskPlan[];
  note?: { text: string; tags: string[] };
}

const Push = z.object({
  repository: z.object({ full_name: z.string() }),
  pusher: z.object({ name: z.string() }),
  commits: z.array(z.object({ message: z.string(), modified: z.array(z.string()) })).min(1),
});
const Alert = z.object({ title: z.string(), severity: z.enum(["warning", "critical"]), state: z.enum(["firing", "resolved"]) });

/** Replaces a model's judgement. Payloads are untrusted, so instructions in them are never followed. */
export function triage(payload: unknown): TriageResult {
  const push = Push.safeParse(payload);
  if (push.success) return triagePush(push.data);
  const alert = Alert.safeParse(payload);
  if (alert.success) return triageAlert(alert.data);
  return typeof payload === "string" ? triageText(payload) : noteOnly("payload of an unknown kind; kept for later", "unknown");
}

const noteOnly = (text: string, ...tags: string[]): TriageResult => ({ tasks: [], note: { text, tags } });

function triagePush({ repository, pusher, commits }: z.infer<typeof Push>): TriageResult {
  const [first] = commits;
  const rest = commits.length > 1 ? ` and ${commits.length - 1} more` : "";
  const summary = `${pusher.name} pushed to ${repository.full_name}: "${first!.message}"${rest}`;
  const payments = commits.some(({ modified }) => modified.some((file) => file.includes("payment")));
  if (!payments) return noteOnly(summary, "push");
  const plan: TaskPlan = { title: "Run the payment tests", description: summary, priority: "medium", tags: ["money", "shop"] };
  return { tasks: [{ ...plan, worker_name: milo.name }] };
}

function triageAlert({ title, severity, state }: z.infer<typeof Alert>): TriageResult {
  if (severity !== "critical" || state !== "firing") return noteOnly(`${severity} alert ${state}: ${title}`, "alert", severity);
  const description = `The monitor says: ${title}.`;
  return {
    tasks: [{ title: "Stop the failing checkouts", description, priority: "high", tags: ["shop"], worker_name: juno.name }],
  };
}

function triageText(text: string): TriageResult {
  if (text.endsWith("..."))
    return noteOnly(`a log of over ${text.length} characters; its first error: ${firstError(text)}`, "log");
  if (/ignore (all|your)|api key|token/i.test(text))
    return noteOnly("an email contains instructions and asks for secrets; ignored", "suspicious");
  const fields = new URLSearchParams(text);
  const [name, topic] = [fields.get("name"), fields.get("topic")];
  if (name && topic) return { tasks: [planAnswer(name, topic)] };
  const sender = /^From: (\S+)$/m.exec(text)?.[1] ?? "somebody";
  const subject = /^Subject: (.+)$/m.exec(text)?.[1] ?? "no subject";
  const order = /Order (\d+)/.exec(text)?.[1];
  return order && /refund/i.test(subject)
    ? triageRefund(sender, order)
    : { tasks: [{ ...planAnswer(sender, subject), worker_name: juno.name }] };
}

const planAnswer = (who: string, topic: string): TaskPlan => ({
  title: `Answer ${who}: ${topic}`,
  description: "Write a friendly answer and fulfil the request if possible.",
  priority: "medium",
  tags: ["customers"],
});

const triageRefund = (sender: string, order: string): TriageResult => ({
  tasks: [
    {
      title: `Refund order ${order}`,
      description: "Pay back what the customer paid and attach the receipt.",
      priority: "high",
      tags: ["money", "customers"],
      worker_name: milo.name,
    },
    {
      title: `Tell ${sender} of the refund`,
      description: "Write a friendly email once the money is on its way.",
      priority: "medium",
      tags: ["customers"],
      depends_on_previous: true,
    },
  ],
});

const firstError = (text: string) => /^.*\berror\b.*$/im.exec(text)?.[0].trim() ?? "none so far";

/** Returns the slug of the tag for a task that a person has created. */
export const tagFor = (title: string): string => (/answer|tell|customer/i.test(title) ? "customers" : "shop");
