import { mainSessionKey } from "@board/core/context/actor";
import { hostAgentId, workspacePath } from "@board/core/values/session-key";
import type { RenderLimits } from "./budget.ts";
import { DEFAULT_ROLE, type TemplateSubject } from "./template-data.ts";
import { toRole } from "./files.ts";

/** The variables of all files (docs/reference/gateways.md#template-variables). Other profile keys become `identity_<key>`. */
export const VARIABLE_NAMES = [
  "agent_name",
  "agent_id",
  "session_key",
  "workspace_path",
  "workspace_root",
  "base_url",
  "auth_token",
  "board_id",
  "board_name",
  "board_objective",
  "is_board_lead",
  "user_name",
  "user_timezone",
  "main_session_key",
  "is_main_agent",
  "board_type",
  "board_success_metrics",
  "board_target_date",
  "board_goal_confirmed",
  "board_rule_require_approval_for_done",
  "board_rule_require_review_before_done",
  "board_rule_comment_required_for_review",
  "board_rule_block_status_changes_with_pending_approval",
  "board_rule_only_lead_can_change_status",
  "board_rule_max_agents",
  "user_preferred_name",
  "user_pronouns",
  "user_notes",
  "user_context",
  "identity_role",
  "identity_communication_style",
  "identity_emoji",
  "identity_autonomy_level",
  "identity_verbosity",
  "identity_output_format",
  "identity_update_cadence",
  "identity_purpose",
  "identity_personality",
  "identity_custom_instructions",
  "directory_role_soul_markdown",
  "directory_role_soul_source_url",
] as const;
export type VariableName = (typeof VARIABLE_NAMES)[number];

/** Values by variable name. Every name of VARIABLE_NAMES has a value, which may be empty. */
export type VariableValues = ReadonlyMap<string, string>;

export interface RoleSoul {
  markdown: string;
  source_url: string;
}

export interface RenderOptions {
  auth_token: string;
  /** Address of the service, without a trailing slash. */
  base_url: string;
  /** The soul of a worker's role, when the souls directory has one. */
  role_soul?: RoleSoul | null;
  /** The default budgets when absent. */
  limits?: RenderLimits;
}

type Group<Prefix extends string> = Record<Extract<VariableName, `${Prefix}_${string}`>, string>;

export function createValues(subject: TemplateSubject, options: RenderOptions): VariableValues {
  const { agent, gateway } = subject;
  const session_key = agent.openclaw_session_id ?? "";
  const values: Record<VariableName, string> = {
    agent_name: agent.name,
    agent_id: agent.id,
    session_key,
    workspace_path: workspacePath(gateway.workspace_root, hostAgentId(session_key || agent.name)),
    workspace_root: gateway.workspace_root,
    base_url: options.base_url,
    auth_token: options.auth_token,
    main_session_key: mainSessionKey(gateway.id),
    is_board_lead: toBooleanWord(toRole(agent) === "lead"),
    is_main_agent: toBooleanWord(toRole(agent) === "main"),
    directory_role_soul_markdown: options.role_soul?.markdown ?? "",
    directory_role_soul_source_url: options.role_soul?.source_url ?? "",
    ...boardValues(subject),
    ...userValues(subject),
    ...DEFAULT_IDENTITY,
  };
  return new Map([...Object.entries(values), ...profileEntries(subject)]);
}

const toBooleanWord = (value: boolean) => (value ? "true" : "false");

function boardValues({ board }: TemplateSubject): Group<"board"> {
  return {
    board_id: board?.id ?? "",
    board_name: board?.name ?? "",
    board_objective: board?.objective ?? "",
    board_type: board?.board_type ?? "",
    board_success_metrics: board ? JSON.stringify(board.success_metrics ?? {}) : "",
    board_target_date: board?.target_date?.toISOString() ?? "",
    board_goal_confirmed: board ? toBooleanWord(board.goal_confirmed) : "",
    board_rule_require_approval_for_done: board ? toBooleanWord(board.require_approval_for_done) : "",
    board_rule_require_review_before_done: board ? toBooleanWord(board.require_review_before_done) : "",
    board_rule_comment_required_for_review: board ? toBooleanWord(board.comment_required_for_review) : "",
    board_rule_block_status_changes_with_pending_approval: board
      ? toBooleanWord(board.block_status_changes_with_pending_approval)
      : "",
    board_rule_only_lead_can_change_status: board ? toBooleanWord(board.only_lead_can_change_status) : "",
    board_rule_max_agents: board ? String(board.max_agents) : "",
  };
}

function userValues({ user }: TemplateSubject): Group<"user"> {
  const email = user?.email?.trim() ?? "";
  const name = user?.name?.trim() ?? "";
  return {
    user_name: name || email,
    user_preferred_name: firstWord(user?.preferred_name) || firstWord(name) || email.split("@", 1)[0]!,
    user_pronouns: user?.pronouns ?? "",
    user_timezone: user?.timezone ?? "",
    user_notes: user?.notes ?? "",
    user_context: user?.context ?? "",
  };
}

const firstWord = (text: string | null | undefined): string => text?.trim().split(/\s+/, 1)[0] ?? "";

const DEFAULT_IDENTITY: Group<"identity"> = {
  identity_role: DEFAULT_ROLE,
  identity_communication_style: "direct, concise, practical",
  identity_emoji: ":gear:",
  identity_autonomy_level: "",
  identity_verbosity: "",
  identity_output_format: "",
  identity_update_cadence: "",
  identity_purpose: "",
  identity_personality: "",
  identity_custom_instructions: "",
};

/** Returns the profile entries whose keys are valid variable names. Blank values are skipped. */
function profileEntries({ agent }: TemplateSubject): [string, string][] {
  return Object.entries(agent.identity_profile ?? {}).flatMap(([key, value]): [string, string][] => {
    const text = String(value ?? "").trim();
    return /^[a-z0-9_]+$/.test(key) && text ? [[`identity_${key}`, text]] : [];
  });
}
