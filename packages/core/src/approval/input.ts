import * as z from "zod";
import {
  TextOrNull,
  Id,
  Integer,
  JsonObject,
  MAX_IDS,
  MAX_NAME,
  MAX_OBJECT_BYTES,
  MAX_TEXT,
  NonEmpty,
  valueError,
  lazyObject,
  areValid,
} from "../values/wire.ts";

import { isQuestion, QuestionOptions } from "./question.ts";

const MAX_CONFIDENCE = 100;

const Scores = z
  .record(z.string(), Integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER))
  .refine((scores) => Buffer.byteLength(JSON.stringify(scores)) <= MAX_OBJECT_BYTES, {
    error: `Object should have at most ${MAX_OBJECT_BYTES} bytes`,
  });

const ApprovalInput = lazyObject(() => ({
  action_type: NonEmpty(MAX_NAME).describe("Action to approve."),
  description: TextOrNull(MAX_TEXT)
    .default(null)
    .describe("Reason for the request. Stored as the payload's `reason` when that is empty, else as its `description`."),
  lead_reasoning: TextOrNull(MAX_TEXT).default(null).describe("Alias of `description`, which wins when both are sent."),
  task_id: Id.nullable().default(null).describe("Task to link. It becomes the first of the linked tasks."),
  task_ids: z.array(Id).max(MAX_IDS).nullable().default(null).describe("Further tasks to link."),
  payload: JsonObject.nullable()
    .default(null)
    .describe("Further data for the decision. Tasks under its `task_id` and `task_ids` are linked too."),
  text: TextOrNull(MAX_TEXT).default(null).describe("Alias of `description`."),
  options: QuestionOptions.nullable().default(null).describe("Answers of a `question`."),
  allow_text: z.boolean().nullable().default(null).describe("Whether a `question` takes other answers too."),
  confidence: z.number().min(0).max(MAX_CONFIDENCE).nullable().default(null).describe("Confidence of the agent, 0 to 100."),
  rubric_scores: Scores.nullable().default(null).describe("Integer scores by criterion."),
  agent_id: Id.nullable()
    .default(null)
    .describe("Agent of the board on whose behalf a person requests. Ignored in requests of agents."),
}));
type ApprovalInput = z.infer<typeof ApprovalInput>;

const hasQuestionFields = ({ options, allow_text }: ApprovalInput) => options !== null || allow_text !== null;

/** There is no `status`, because a new approval is always pending. */
export const CreateApproval = ApprovalInput.refine((sent) => toReason(sent) !== null, {
  ...valueError("lead reasoning is required"),
  when: areValid("description", "lead_reasoning", "text", "payload"),
})
  .refine((sent) => isQuestion(sent) || !hasQuestionFields(sent), {
    ...valueError("options and allow_text belong to the action question"),
    when: areValid("action_type", "options", "allow_text"),
  })
  .refine((sent) => toLinkedTaskIds(sent).length <= MAX_IDS, {
    ...valueError(`at most ${MAX_IDS} tasks can be linked`),
    when: areValid("task_id", "task_ids", "payload"),
  })
  .meta({ id: "ApprovalCreate" });
export type CreateApproval = z.infer<typeof CreateApproval>;

const ID_LIST_KEYS = ["task_ids", "taskIds", "taskIDs"];
const ID_KEYS = ["task_id", "taskId", "taskID"];

/**
 * Returns the ids of the tasks to link, without duplicates: first the ids in the fields of the body, then all valid ids in its
 * payload.
 */
export function toLinkedTaskIds({ task_id, task_ids, payload }: ApprovalInput): string[] {
  const lists = ID_LIST_KEYS.map((key) => payload?.[key]).filter((list) => Array.isArray(list));
  const candidates: unknown[] = [task_id, ...(task_ids ?? []), ...lists.flat(), ...ID_KEYS.map((key) => payload?.[key])];
  return [...new Set(candidates.flatMap((id) => Id.safeParse(id).data ?? []))];
}

/**
 * Returns the payload to store. A blank `reason` is filled from the other fields that may contain one. A description that is not
 * used as the reason is added as `description`, unless the payload has a description.
 */
export function toStoredPayload(input: ApprovalInput): Record<string, unknown> {
  const { description, payload } = input;
  const reason = toPayloadReason(payload) ?? toReason(input);
  const isKept = description !== null && description !== reason && toNonBlankText(payload?.["description"]) === null;
  const { options, allow_text } = input;
  const asked = isQuestion(input) ? { ...(options ? { options } : {}), ...(allow_text === null ? {} : { allow_text }) } : {};
  return { ...payload, reason, ...(isKept ? { description } : {}), ...asked };
}

function toReason({ description, lead_reasoning, text, payload }: ApprovalInput) {
  const decision = payload?.["decision"];
  const decisionReason = typeof decision === "object" && decision !== null && "reason" in decision ? decision.reason : null;
  return description ?? lead_reasoning ?? text ?? toPayloadReason(payload) ?? toNonBlankText(decisionReason);
}

const toPayloadReason = (payload: ApprovalInput["payload"]) => toNonBlankText(payload?.["reason"]);

export const toNonBlankText = (value: unknown): string | null =>
  typeof value === "string" && value.trim() !== "" ? value : null;
