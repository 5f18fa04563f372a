import type { Board, BoardGroup, Gateway } from "../types.ts";
import type { FieldSpec, Typed } from "../ui/form.tsx";
import { type Option, optionOf } from "../ui/select.tsx";
import { fromLocal, jsonOrNull, numberOrNull, textOf, textOrNull, toJsonText, toLocal } from "../ui/values.ts";

export interface Choices {
  groups: readonly BoardGroup[];
  gateways: readonly Gateway[];
}

const BOARD_TYPES: readonly Option[] = [
  ["general", "General"],
  ["goal", "Goal"],
  ["project", "Project"],
  ["ops", "Operations"],
];

/** Returns the form's fields for the board's name, description and similar properties. */
export function generalFields(board: Board, { groups, gateways }: Choices): FieldSpec[] {
  const knows = gateways.some(({ id }) => id === board.gateway_id);
  return [
    { name: "name", label: "Name" },
    { name: "slug", label: "Short name in addresses", short: true },
    { name: "max_agents", label: "Workers at most", kind: "number", short: true },
    { name: "escalate_after_minutes", label: "Minutes until others are asked to decide", kind: "number", short: true },
    { name: "description", label: "What it is for", kind: "long", rows: 3 },
    {
      name: "board_group_id",
      label: "Group",
      kind: "choice",
      options: [["", "none"], ...groups.map(optionOf)],
      short: true,
    },
    ...(knows
      ? [
          {
            name: "gateway_id",
            label: "Gateway of its agents",
            kind: "choice" as const,
            options: gateways.map(optionOf),
            short: true,
          },
        ]
      : []),
  ];
}

export const GOAL_FIELDS: readonly FieldSpec[] = [
  { name: "board_type", label: "Kind of board", kind: "choice", options: BOARD_TYPES, short: true },
  { name: "target_date", label: "To be reached by", kind: "moment", short: true },
  { name: "objective", label: "Objective", kind: "long", rows: 2 },
  { name: "success_metrics", label: "How success is measured, as JSON", kind: "long", rows: 3, placeholder: '{"signups": 100}' },
  { name: "goal_confirmed", label: "The goal is confirmed", kind: "check" },
];

export const RULE_FIELDS: readonly FieldSpec[] = [
  {
    name: "require_review_before_done",
    label: "Work passes Review before it is done",
    kind: "check",
  },
  {
    name: "require_approval_for_done",
    label: "Done needs an approval of a person",
    kind: "check",
  },
  {
    name: "comment_required_for_review",
    label: "Moving to Review needs a comment",
    kind: "check",
  },
  {
    name: "block_status_changes_with_pending_approval",
    label: "A task with a pending approval stays where it is",
    kind: "check",
  },
  {
    name: "only_lead_can_change_status",
    label: "Of the agents, only the lead moves tasks",
    kind: "check",
  },
];

export function toTyped(board: Board): Typed {
  return {
    name: board.name,
    slug: board.slug,
    description: board.description,
    max_agents: String(board.max_agents),
    escalate_after_minutes: board.escalate_after_minutes === null ? "" : String(board.escalate_after_minutes),
    board_group_id: board.board_group_id ?? "",
    gateway_id: board.gateway_id,
    board_type: board.board_type,
    objective: board.objective ?? "",
    success_metrics: toJsonText(board.success_metrics),
    target_date: toLocal(board.target_date),
    goal_confirmed: board.goal_confirmed,
    ...Object.fromEntries(RULE_FIELDS.map(({ name }) => [name, board[name as keyof Board] === true])),
  };
}

/** Returns a request body with only the fields in `typed`. */
export function toBody(typed: Typed) {
  const has = (name: string) => name in typed;
  const flags = [...RULE_FIELDS.map(({ name }) => name), "goal_confirmed"].filter(has);
  const texts = ["name", "slug", "description", "gateway_id"].filter(has);
  return {
    ...Object.fromEntries(texts.map((name) => [name, textOf(typed, name)])),
    ...Object.fromEntries(flags.map((name) => [name, typed[name] === true])),
    ...(has("max_agents") ? { max_agents: numberOrNull(typed, "max_agents") ?? 0 } : {}),
    ...(has("escalate_after_minutes") ? { escalate_after_minutes: numberOrNull(typed, "escalate_after_minutes") } : {}),
    ...(has("board_group_id") ? { board_group_id: textOrNull(typed, "board_group_id") } : {}),
    ...(has("board_type") ? { board_type: textOf(typed, "board_type") as Board["board_type"] } : {}),
    ...(has("objective") ? { objective: textOrNull(typed, "objective") } : {}),
    ...(has("success_metrics") ? { success_metrics: jsonOrNull<Record<string, never>>(typed, "success_metrics") } : {}),
    ...(has("target_date") ? { target_date: fromLocal(textOf(typed, "target_date")) } : {}),
  };
}
