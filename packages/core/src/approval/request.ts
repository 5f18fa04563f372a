import * as z from "zod";
import { Blankable, Id, Integer, JsonObject, MAX_IDS, MAX_NAME, MAX_OBJECT_BYTES, MAX_TEXT, NonEmpty, rule } from "../wire.ts";

const MAX_CONFIDENCE = 100;

const Scores = z
  .record(z.string(), Integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER))
  .refine((scores) => Buffer.byteLength(JSON.stringify(scores)) <= MAX_OBJECT_BYTES, {
    error: `Object should have at most ${MAX_OBJECT_BYTES} bytes`,
  });

const Sent = z.object({
  action_type: NonEmpty(MAX_NAME).describe("What is to be approved."),
  description: Blankable(MAX_TEXT).default(null).describe("Why; kept as the payload's `reason` when that is empty."),
  lead_reasoning: Blankable(MAX_TEXT).default(null).describe("The same, by the name that leads use."),
  task_id: Id.nullable().default(null).describe("Task it is about; the first of several."),
  task_ids: z.array(Id).max(MAX_IDS).nullable().default(null).describe("Further tasks it is about."),
  payload: JsonObject.nullable()
    .default(null)
    .describe("What is to be known for the decision. Task ids under `task_id` or `task_ids` are linked too."),
  confidence: z.number().min(0).max(MAX_CONFIDENCE).nullable().default(null).describe("How sure the agent is, 0 to 100."),
  rubric_scores: Scores.nullable().default(null).describe("Scores by criterion, integers."),
  agent_id: Id.nullable()
    .default(null)
    .describe("Agent of the board that asks, when a person writes it down; ignored from agents."),
});
type Sent = z.infer<typeof Sent>;

/** An approval as it is asked for. It is pending whatever is sent, and an agent asks for itself. */
export const CreateApproval = Sent.refine((sent) => reasonOf(sent) !== null, rule("lead reasoning is required"))
  .refine((sent) => linkedTaskIds(sent).length <= MAX_IDS, rule(`at most ${MAX_IDS} tasks can be linked`))
  .meta({ id: "ApprovalCreate" });
export type CreateApproval = z.infer<typeof CreateApproval>;

const LISTS = ["task_ids", "taskIds", "taskIDs"];
const SINGLES = ["task_id", "taskId", "taskID"];

/** The tasks that a request names, each once: those of the body first, then what looks like an id in the payload. */
export function linkedTaskIds({ task_id, task_ids, payload }: Sent): string[] {
  const lists = LISTS.map((key) => payload?.[key]).filter((list) => Array.isArray(list));
  const named: unknown[] = [task_id, ...(task_ids ?? []), ...lists.flat(), ...SINGLES.map((key) => payload?.[key])];
  return [...new Set(named.flatMap((id) => Id.safeParse(id).data ?? []))];
}

/** The payload as it is kept: its `reason` is the one that it has, else the first that was given. */
export const payloadOf = (input: Sent): Record<string, unknown> => ({
  ...input.payload,
  reason: ownReason(input.payload) ?? reasonOf(input),
});

function reasonOf({ description, lead_reasoning, payload }: Sent) {
  const decision = payload?.["decision"];
  const nested = typeof decision === "object" && decision !== null && "reason" in decision ? decision.reason : null;
  return description ?? lead_reasoning ?? ownReason(payload) ?? text(nested);
}

const ownReason = (payload: Sent["payload"]) => text(payload?.["reason"]);

const text = (value: unknown): string | null => (typeof value === "string" && value.trim() !== "" ? value : null);
