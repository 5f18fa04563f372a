import { ellipsize } from "@board/core/values/text";
import { oneLine } from "@board/core/values/wire";
import type { Colleague, TemplateSubject } from "./template-data.ts";
import { ROLE_FILES, toRole } from "./files.ts";
import { TOOLS_KEYS, type ToolsKey, LINE_BREAK } from "./token-line.ts";
import { VARIABLE_NAMES, type VariableName, type VariableValues } from "./values.ts";

/** Additional variables for the service's own texts, which combine several values or consist of several lines. */
export type BlockName =
  | "key_lines"
  | "role_tag"
  | "own_files"
  | "board_goal"
  | "goal_excerpt"
  | "autonomy_meaning"
  | "custom_instructions"
  | "other_profile_lines"
  | "user_notes_section"
  | "user_context_section"
  | "role_soul"
  | "roster";

/**
 * Limits in characters for a value in a line and for a quoted text. They are low, because hosts cut files at 20,000 characters.
 * Agents can read the complete texts through the API.
 */
const LINE_CHARS = 1_000;
const QUOTE_CHARS = 4_000;
const ROLE_CHARS = 100;
const EXCERPT_CHARS = 300;

/**
 * Creates the values for the service's own texts. Values that people and agents wrote become one line or a quotation, so that they
 * cannot forge a heading or a `KEY=value` line.
 */
export function createTextValues(
  subject: TemplateSubject,
  values: VariableValues,
): Readonly<Record<VariableName | BlockName, string>> {
  const value = (name: VariableName) => values.get(name) ?? "";
  const lines = Object.fromEntries(VARIABLE_NAMES.map((name) => [name, ellipsize(oneLine(value(name)), LINE_CHARS)])) as Record<
    VariableName,
    string
  >;
  const blocks: Record<BlockName, string> = {
    key_lines: keyLines(value),
    role_tag: `agent-${toRole(subject.agent)}`,
    own_files: ROLE_FILES[toRole(subject.agent)].filter((name) => name !== "BOOTSTRAP.md" && name !== "MEMORY.md").join(" "),
    board_goal: titledQuote("The objective, in the words of people:", value("board_objective")),
    goal_excerpt: ellipsize(oneLine(value("board_objective")), EXCERPT_CHARS),
    autonomy_meaning: AUTONOMY_MEANINGS.get(value("identity_autonomy_level")) ?? "",
    custom_instructions: titledQuote("## Instructions from your people", value("identity_custom_instructions")),
    other_profile_lines: profileLines(values),
    user_notes_section: titledQuote("## Notes", value("user_notes")),
    user_context_section: titledQuote("## Background", value("user_context")),
    role_soul: value("directory_role_soul_markdown").trim(),
    roster: subject.colleagues.map((colleague) => rosterLine(colleague, subject.agent.id)).join("\n"),
  };
  return { ...lines, ...blocks };
}

const KEY_VALUES: Readonly<Record<ToolsKey, VariableName>> = {
  BASE_URL: "base_url",
  AUTH_TOKEN: "auth_token",
  AGENT_ID: "agent_id",
  AGENT_NAME: "agent_name",
  BOARD_ID: "board_id",
  WORKSPACE_ROOT: "workspace_root",
  WORKSPACE_PATH: "workspace_path",
};

const keyLines = (value: (name: VariableName) => string): string =>
  TOOLS_KEYS.map((key) => `${key}=${oneLine(value(KEY_VALUES[key]))}`).join("\n");

/** Prefixes every line with `>`. An empty text stays empty. */
function quoteLines(text: string): string {
  const excerpt = ellipsize(text.trim(), QUOTE_CHARS);
  if (!excerpt) return "";
  return excerpt
    .split(LINE_BREAK)
    .map((line) => `> ${oneLine(line)}`.trimEnd())
    .join("\n");
}

const titledQuote = (title: string, text: string): string => (text.trim() ? `${title}\n\n${quoteLines(text)}` : "");

/** What the autonomy levels of the onboarding mean in practice. */
const AUTONOMY_MEANINGS: ReadonlyMap<string, string> = new Map([
  ["ask_first", "propose, and act once somebody agreed"],
  ["balanced", "decide what is easy to undo, ask about the rest"],
  ["autonomous", "decide and report; board rules and approvals still hold"],
]);

/** Returns lines for those keys of an identity profile that no other variable shows. */
const profileLines = (values: VariableValues): string =>
  [...values]
    .filter(([name]) => name.startsWith("identity_") && !(VARIABLE_NAMES as readonly string[]).includes(name))
    .map(([name, value]) => `- ${name.slice("identity_".length)}: ${ellipsize(oneLine(value), LINE_CHARS)}`)
    .join("\n");

function rosterLine({ id, name, is_board_lead, role }: Colleague, agent_id: string): string {
  const handle = toHandle({ name, is_board_lead });
  const facts = [
    oneLine(name),
    ellipsize(oneLine(role), ROLE_CHARS),
    is_board_lead ? "lead" : "worker",
    `id ${id}`,
    ...(id === agent_id ? ["you"] : []),
  ];
  return `- ${handle ?? "(no handle)"}: ${facts.join(", ")}`;
}

/** Returns the handle that mentions an agent (docs/reference/agents.md#mentions), or null when its name cannot be a handle. */
export function toHandle({ name, is_board_lead }: { name: string; is_board_lead: boolean }): string | null {
  if (is_board_lead) return "@lead";
  const [first = ""] = name.trim().toLowerCase().split(/\s+/, 1);
  return /^\p{L}[\p{L}\p{N}_-]{0,31}$/u.test(first) && first !== "lead" && first !== "all" ? `@${first}` : null;
}
