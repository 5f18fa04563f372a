import * as z from "zod";

/** What the lead makes of a payload: a note for the board and, where somebody should act, a request for the worker. */
export interface Verdict {
  note: string;
  tags: string[];
  request?: string;
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
  return typeof payload === "string"
    ? judgeText(payload)
    : { note: "A payload of a kind I do not know; kept for later", tags: ["unknown"] };
}

function judgePush({ repository, pusher, commits }: z.infer<typeof Push>): Verdict {
  const [first] = commits;
  const rest = commits.length > 1 ? ` and ${commits.length - 1} more` : "";
  const note = `${pusher.name} pushed to ${repository.full_name}: "${first!.message}"${rest}`;
  const payments = commits.some(({ modified }) => modified.some((file) => file.includes("payment")));
  return { note, tags: ["push"], ...(payments ? { request: `please run the payment tests` } : {}) };
}

function judgeAlert({ title, severity, state }: z.infer<typeof Alert>): Verdict {
  const urgent = severity === "critical" && state === "firing";
  return {
    note: `${severity} alert ${state}: ${title}`,
    tags: ["alert", severity],
    ...(urgent ? { request: `please look into this now: ${title}` } : {}),
  };
}

function judgeText(text: string): Verdict {
  if (text.endsWith("..."))
    return { note: `A log of more than ${text.length} characters; its first error: ${firstError(text)}`, tags: ["log"] };
  if (/ignore (all|your)|api key|token/i.test(text))
    return {
      note: "A mail gives me orders and wants secrets; not followed",
      tags: ["support", "suspicious"],
    };
  const fields = new URLSearchParams(text);
  const [name, topic] = [fields.get("name"), fields.get("topic")];
  if (name && topic)
    return { note: `${name} asks by form about: ${topic}`, tags: ["support"], request: `please write to ${name} about ${topic}` };
  const sender = /^From: (.+)$/m.exec(text)?.[1] ?? "somebody";
  const subject = /^Subject: (.+)$/m.exec(text)?.[1] ?? "no subject";
  return { note: `${sender} writes: ${subject}`, tags: ["support"], request: `please answer ${sender}: ${subject}` };
}

const firstError = (text: string) => /^.*\berror\b.*$/im.exec(text)?.[0].trim() ?? "none so far";
