import type * as z from "zod";
import type { BoardRow } from "@board/core/organization/access";
import { BoardType } from "@board/core/board/board-type";
import { fence } from "@board/core/values/text";
import { oneLine } from "@board/core/values/wire";
import { AutonomyLevel, type Completion, OutputFormat, type Question, UpdateCadence, Verbosity } from "./draft.ts";

const EXAMPLE_QUESTION: z.input<typeof Question> = {
  question: "What should this board achieve first?",
  options: [
    { id: "1", label: "Ship a first version" },
    { id: "2", label: "Make what is there more reliable" },
    { id: "3", label: "Something else (please describe)" },
  ],
};

const EXAMPLE_COMPLETION: z.input<typeof Completion> = {
  status: "complete",
  board_type: "goal",
  objective: "Ship the first version to ten pilot customers",
  success_metrics: { pilot_customers: 10, max_open_incidents: 0 },
  target_date: "2030-06-30",
  user_profile: {
    preferred_name: "Sam",
    pronouns: "they/them",
    timezone: "Europe/Berlin",
    notes: "Prefers short updates in the morning",
    context: "Runs the product team",
  },
  lead_agent: {
    name: "Ada",
    identity_profile: { role: "Board Lead", communication_style: "direct, concise, practical", emoji: ":compass:" },
    autonomy_level: "balanced",
    verbosity: "concise",
    output_format: "bullets",
    update_cadence: "daily",
    custom_instructions: "Ask before spending money",
  },
};

const oneOf = (choices: { options: readonly string[] }) => choices.options.join(", ");

/**
 * Creates the first message to the main agent (docs/reference/boards.md#onboarding-prompt). The description comes last, inside a
 * fence.
 */
export function onboardingPrompt(board: BoardRow, service_url: string): string {
  return [
    "BOARD ONBOARDING REQUEST",
    `Board: ${oneLine(board.name)}`,
    `Board ID: ${board.id}`,
    "",
    "Interview the user about this board, then hand in the result. The user sees each of your questions on the board and",
    "chooses an option or adds free text; every answer comes to you as a message in this session.",
    "",
    "How to reply:",
    `POST ${service_url}/api/v1/agent/boards/${board.id}/onboarding`,
    "with the header X-Agent-Token: the AUTH_TOKEN of your TOOLS.md, and one JSON object as the body.",
    "Reply only through this call; what you write in this session does not reach the user.",
    "Send one question object per reply, then wait for the answer before you ask the next one.",
    "",
    "Ask 6 to 10 questions, in this order:",
    "1. Three to six about the goal: what success looks like, how it is measured, by when.",
    "2. One for the name of the board's lead agent.",
    "3. Two to four about working style: autonomy, how much and how the lead writes, how often it reports.",
    "4. Last an open one: anything else that the lead or the other agents should know.",
    "",
    "A question:",
    JSON.stringify(EXAMPLE_QUESTION),
    "",
    "The result, once you have the answers; send it again when the user wants it changed:",
    JSON.stringify(EXAMPLE_COMPLETION),
    "",
    "Allowed values:",
    `board_type: ${oneOf(BoardType)}`,
    `lead_agent.autonomy_level: ${oneOf(AutonomyLevel)}`,
    `lead_agent.verbosity: ${oneOf(Verbosity)}`,
    `lead_agent.output_format: ${oneOf(OutputFormat)}`,
    `lead_agent.update_cadence: ${oneOf(UpdateCadence)}`,
    "With board_type goal, objective and success_metrics are required. Leave out what you were not told; never invent it.",
    "With autonomy_level autonomous, tasks are done without approval: choose it only when the user asked for that.",
    "",
    "Description of the board:",
    fence(board.description),
  ].join("\n");
}
