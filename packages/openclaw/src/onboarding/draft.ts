import * as z from "zod";
import { IdentityProfile } from "@board/core/agent/identity-profile";
import type { LeadOptions } from "@board/core/agent/lead";
import { GoalFields, completeGoalRule } from "@board/core/board/goal";
import { UpdateUser } from "@board/core/organization/profile";
import { TextOrNull, MAX_NAME, MAX_TEXT, NonEmpty, lazyObject } from "@board/core/values/wire";

export const AutonomyLevel = z.enum(["ask_first", "balanced", "autonomous"]);
export const Verbosity = z.enum(["concise", "balanced", "detailed"]);
export const OutputFormat = z.enum(["bullets", "mixed", "narrative"]);
export const UpdateCadence = z.enum(["asap", "hourly", "daily", "weekly"]);

const optionalText = (max: number) => TextOrNull(max).default(null);
const optionalChoice = <E extends z.ZodEnum>(options: E) => options.nullable().default(null);

const UserProfile = lazyObject(
  () => UpdateUser.pick({ preferred_name: true, pronouns: true, timezone: true, notes: true, context: true }).shape,
).meta({
  id: "OnboardingUserProfile",
  description: "What the agent learned about the user; blank or null leaves a field unchanged.",
});

const LeadAgent = lazyObject(() => ({
  name: optionalText(MAX_NAME).describe("Name of the board's lead agent."),
  identity_profile: IdentityProfile.default(null).describe("Role, communication_style, emoji and further keys."),
  autonomy_level: optionalChoice(AutonomyLevel).describe("How much the lead decides by itself."),
  verbosity: optionalChoice(Verbosity).describe("How much the lead writes."),
  output_format: optionalChoice(OutputFormat).describe("How the lead writes."),
  update_cadence: optionalChoice(UpdateCadence).describe("How often the lead reports."),
  custom_instructions: optionalText(MAX_TEXT).describe("Further instructions for the lead."),
})).meta({ id: "OnboardingLeadAgent", description: "How the lead of the board should work." });

/** The result of the interview. A stored draft must also parse, so the schema accepts its own output. */
export const Completion = lazyObject(() => ({
  status: z.literal("complete").describe("Distinguishes a completion from a question."),
  ...GoalFields.shape,
  user_profile: UserProfile.nullable().default(null).describe("What the agent learned about the user."),
  lead_agent: LeadAgent.nullable().default(null).describe("How the lead of the board should work."),
}))
  .refine(...completeGoalRule)
  .meta({ id: "OnboardingCompletion", description: "The drafted goal, ready for the user to confirm." });
export type Completion = z.infer<typeof Completion>;

export const Question = lazyObject(() => ({
  question: NonEmpty(MAX_TEXT).describe("The question to the user."),
  options: z
    .array(
      z.object({
        id: NonEmpty(MAX_NAME).describe("Id of the option."),
        label: NonEmpty(MAX_NAME).describe("What the user reads and answers with."),
      }),
    )
    .min(1)
    .describe("Answers to choose from; the user may add free text."),
})).meta({ id: "OnboardingQuestion", description: "One question for the user." });

/** A reply of the main agent. */
export const AgentReply = z.union([Completion, Question]);
export type AgentReply = z.infer<typeof AgentReply>;

const AUTONOMOUS = ["autonomous", "fully-autonomous", "full-autonomy"];

function isAutonomousValue(value: string | null | undefined): boolean {
  const level = value?.trim().toLowerCase() ?? "";
  return AUTONOMOUS.includes(level) || (level.includes("fully") && level.includes("autonom"));
}

/** Returns whether the lead may finish tasks without approval. */
export function isFullyAutonomous(draft: Completion | null): boolean {
  const { autonomy_level, identity_profile } = draft?.lead_agent ?? {};
  const { autonomy_level: level, autonomy, mode } = identity_profile ?? {};
  return [autonomy_level, level, autonomy, mode].some(isAutonomousValue);
}

/** Returns the changes to the user that the draft contains. */
export const toUserUpdate = (draft: Completion | null): UpdateUser => withoutNulls(draft?.user_profile ?? {});

/** Returns the options of the lead in the draft. How the lead should work becomes part of its profile. */
export function toLeadOptions(draft: Completion | null): LeadOptions {
  if (!draft?.lead_agent) return {};
  const { name, identity_profile, ...style } = draft.lead_agent;
  return { name, profile: { ...identity_profile, ...withoutNulls(style) } };
}

const withoutNulls = (fields: Record<string, string | null | undefined>): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
