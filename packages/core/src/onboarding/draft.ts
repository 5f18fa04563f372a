import * as z from "zod";
import { IdentityProfile } from "../agent/agent.ts";
import type { LeadWishes } from "../agent/lead.ts";
import { goalFields, isWholeGoal } from "../board/goal.ts";
import { UpdateUser } from "../organization/profile.ts";
import { Blankable, MAX_NAME, MAX_TEXT, NonEmpty } from "../wire.ts";

export const AutonomyLevel = z.enum(["ask_first", "balanced", "autonomous"]);
export const Verbosity = z.enum(["concise", "balanced", "detailed"]);
export const OutputFormat = z.enum(["bullets", "mixed", "narrative"]);
export const UpdateCadence = z.enum(["asap", "hourly", "daily", "weekly"]);

const text = (max: number) => Blankable(max).default(null);
const choice = <E extends z.ZodEnum>(options: E) => options.nullable().default(null);

const UserProfile = UpdateUser.pick({ preferred_name: true, pronouns: true, timezone: true, notes: true, context: true }).meta({
  id: "OnboardingUserProfile",
  description: "What was learned about the user; blank or null leaves a field as it is.",
});

const LeadAgent = z
  .object({
    name: text(MAX_NAME).describe("Name of the board's lead agent."),
    identity_profile: IdentityProfile.default(null).describe("Role, communication_style, emoji and further keys."),
    autonomy_level: choice(AutonomyLevel).describe("How much the lead decides by itself."),
    verbosity: choice(Verbosity).describe("How much the lead writes."),
    output_format: choice(OutputFormat).describe("How the lead writes."),
    update_cadence: choice(UpdateCadence).describe("How often the lead reports."),
    custom_instructions: text(MAX_TEXT).describe("Anything else the lead should hold to."),
  })
  .meta({ id: "OnboardingLeadAgent", description: "How the lead of the board should work." });

/** The result of the interview. It reads what it has written: a stored draft fits it too. */
export const Completion = z
  .object({
    status: z.literal("complete").describe("Tells a completion from a question."),
    ...goalFields,
    user_profile: UserProfile.nullable().default(null).describe("What was learned about the user."),
    lead_agent: LeadAgent.nullable().default(null).describe("How the lead of the board should work."),
  })
  .refine(...isWholeGoal)
  .meta({ id: "OnboardingCompletion", description: "The drafted goal, ready for the user to confirm." });
export type Completion = z.infer<typeof Completion>;

export const Question = z
  .object({
    question: NonEmpty(MAX_TEXT).describe("What the user is asked."),
    options: z
      .array(
        z.object({
          id: NonEmpty(MAX_NAME).describe("Id of the option."),
          label: NonEmpty(MAX_NAME).describe("What the user reads and answers with."),
        }),
      )
      .min(1)
      .describe("Answers to choose from; the user may add words of their own."),
  })
  .meta({ id: "OnboardingQuestion", description: "One question for the user." });

/** What the main agent replies with. */
export const AgentReply = z.union([Completion, Question]);
export type AgentReply = z.infer<typeof AgentReply>;

const AUTONOMOUS = ["autonomous", "fully-autonomous", "full-autonomy"];

function saysAutonomous(value: string | null | undefined): boolean {
  const said = value?.trim().toLowerCase() ?? "";
  return AUTONOMOUS.includes(said) || (said.includes("fully") && said.includes("autonom"));
}

/** Whether the lead may finish tasks without anybody's approval. */
export function isFullyAutonomous(draft: Completion | null): boolean {
  const { autonomy_level, identity_profile } = draft?.lead_agent ?? {};
  const { autonomy_level: level, autonomy, mode } = identity_profile ?? {};
  return [autonomy_level, level, autonomy, mode].some(saysAutonomous);
}

/** What the draft tells of the user. */
export const learnedOf = (draft: Completion | null): UpdateUser => withoutNulls(draft?.user_profile ?? {});

/** The lead that the draft asks for; how it should work becomes part of its profile. */
export function leadWishes(draft: Completion | null): LeadWishes {
  if (!draft?.lead_agent) return {};
  const { name, identity_profile, ...style } = draft.lead_agent;
  return { name, profile: { ...identity_profile, ...withoutNulls(style) } };
}

const withoutNulls = (fields: Record<string, string | null | undefined>): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
