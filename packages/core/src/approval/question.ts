import * as z from "zod";
import { InvalidInput } from "../values/errors.ts";
import { lazyObject, MAX_NAME, NonEmpty, TextOrNull } from "../values/wire.ts";
import { isRunPermission, RUN_PERMISSION } from "./run-permission.ts";

/** The action of an approval with which an agent asks people a question (docs/reference/approvals.md#questions). */
export const QUESTION = "question";

interface Asked {
  action_type: string;
  payload: Record<string, unknown> | null;
}

export const isQuestion = ({ action_type }: Pick<Asked, "action_type">): boolean => action_type === QUESTION;

/**
 * The actions of approvals that are not about the result of a task. They do not block moves of the task and do not open gates.
 */
export const ASIDE_ACTIONS = [RUN_PERMISSION, QUESTION] as const;
export const isAside = (approval: Pick<Asked, "action_type">): boolean => isRunPermission(approval) || isQuestion(approval);

const MIN_OPTIONS = 2;
const MAX_OPTIONS = 4;
const MAX_ANSWER = 10_000;

export const QuestionOptions = z
  .array(NonEmpty(MAX_NAME))
  .min(MIN_OPTIONS)
  .max(MAX_OPTIONS)
  .refine((options) => new Set(options).size === options.length, { error: "Options should differ" });

export const Answer = lazyObject(() => ({
  option: z.string().max(MAX_NAME).nullable().default(null).describe("One of the options, as it was asked."),
  text: TextOrNull(MAX_ANSWER).default(null).describe("An answer in the person's own words, if the question allows it."),
}));
export type Answer = z.infer<typeof Answer>;

/** Returns the options of a question. People may answer in their own words if the question allows it or has no options. */
export function questionOf({ payload }: Asked): { options: string[]; allow_text: boolean } {
  const listed = QuestionOptions.safeParse(payload?.["options"]).data ?? [];
  return { options: listed, allow_text: listed.length === 0 || payload?.["allow_text"] === true };
}

/** Returns the payload of a decided question with the answer added. A rejected question has no answer. */
export function withAnswer(
  approval: Asked,
  status: "approved" | "rejected",
  answer: Answer | undefined,
): Record<string, unknown> | null {
  if (!isQuestion(approval)) {
    if (answer !== undefined) throw invalidAnswer("This approval is not a question", answer);
    return approval.payload;
  }
  if (status === "rejected") return { ...approval.payload, answer: null };
  const { option = null, text = null } = answer ?? {};
  const { options, allow_text } = questionOf(approval);
  if (option !== null && !options.includes(option)) throw invalidAnswer("The question has no such option", answer);
  if (text !== null && !allow_text) throw invalidAnswer("The question is answered by one of its options", answer);
  if (option === null && text === null) throw invalidAnswer("An approved question needs an answer", answer ?? null);
  return { ...approval.payload, answer: { option, text } };
}

/** Returns the answer to a decided question as text, or null if there is none. */
export function answerTextOf({ payload }: Pick<Asked, "payload">): string | null {
  const { option, text } = Answer.safeParse(payload?.["answer"]).data ?? { option: null, text: null };
  const parts = [option, text].filter((part) => part !== null);
  return parts.length === 0 ? null : parts.join("\n");
}

const invalidAnswer = (msg: string, input: unknown) =>
  new InvalidInput([{ type: "value_error", loc: ["body", "answer"], msg, input }]);
