import { abridge } from "../text.ts";
import { oneLine } from "../wire.ts";
import type { Colleague, TemplateSubject } from "./context.ts";
import { FILES, roleOf } from "./files.ts";
import { KEYS, type Key, LINE_BREAK } from "./token-line.ts";
import { NAMES, type Name, type Values } from "./values.ts";

/** Variables of our own texts alone: what takes more than one value, or more than one line. */
export type BlockName =
  | "key_lines"
  | "role_tag"
  | "own_files"
  | "board_goal"
  | "autonomy_meaning"
  | "custom_instructions"
  | "more_of_the_profile"
  | "notes_on_the_user"
  | "context_of_the_user"
  | "role_soul"
  | "roster";

/** A value inside a line, and a text of several lines. Hosts cut files at 20 000 characters; what is longer can be read from the service. */
const LINE_CHARS = 1_000;
const QUOTE_CHARS = 4_000;
const ROLE_CHARS = 100;

/**
 * What our own texts are filled with. Values of people and agents come as one line, or line by line as a quotation, so
 * that none of them can start a line of its own: neither one of the token's file nor a heading.
 */
export function textValues(subject: TemplateSubject, values: Values): Readonly<Record<Name | BlockName, string>> {
  const value = (name: Name) => values.get(name) ?? "";
  const lines = Object.fromEntries(NAMES.map((name) => [name, abridge(oneLine(value(name)), LINE_CHARS)])) as Record<
    Name,
    string
  >;
  const blocks: Record<BlockName, string> = {
    key_lines: keyLines(value),
    role_tag: `agent-${roleOf(subject.agent)}`,
    own_files: FILES[roleOf(subject.agent)].filter((name) => name !== "BOOTSTRAP.md" && name !== "MEMORY.md").join(" "),
    board_goal: titled("The objective, in the words of people:", value("board_objective")),
    autonomy_meaning: AUTONOMY.get(value("identity_autonomy_level")) ?? "",
    custom_instructions: titled("## Instructions from your people", value("identity_custom_instructions")),
    more_of_the_profile: furtherLines(values),
    notes_on_the_user: titled("## Notes", value("user_notes")),
    context_of_the_user: titled("## Background", value("user_context")),
    role_soul: value("directory_role_soul_markdown").trim(),
    roster: subject.colleagues.map((one) => rosterLine(one, subject.agent.id)).join("\n"),
  };
  return { ...lines, ...blocks };
}

const KEY_VALUES: Readonly<Record<Key, Name>> = {
  BASE_URL: "base_url",
  AUTH_TOKEN: "auth_token",
  AGENT_ID: "agent_id",
  AGENT_NAME: "agent_name",
  BOARD_ID: "board_id",
  WORKSPACE_ROOT: "workspace_root",
  WORKSPACE_PATH: "workspace_path",
};

const keyLines = (value: (name: Name) => string): string =>
  KEYS.map((key) => `${key}=${oneLine(value(KEY_VALUES[key]))}`).join("\n");

/** Every line of it behind a `>`; empty for an empty text. */
function quotation(text: string): string {
  const said = abridge(text.trim(), QUOTE_CHARS);
  if (!said) return "";
  return said
    .split(LINE_BREAK)
    .map((line) => `> ${oneLine(line)}`.trimEnd())
    .join("\n");
}

const titled = (title: string, text: string): string => (text.trim() ? `${title}\n\n${quotation(text)}` : "");

/** What the levels of the onboarding mean in practice. */
const AUTONOMY: ReadonlyMap<string, string> = new Map([
  ["ask_first", "propose, and act once somebody agreed"],
  ["balanced", "decide what is easy to undo, ask about the rest"],
  ["autonomous", "decide and report; board rules and approvals still hold"],
]);

/** Keys of the profile that have no place of their own. */
const furtherLines = (values: Values): string =>
  [...values]
    .filter(([name]) => name.startsWith("identity_") && !(NAMES as readonly string[]).includes(name))
    .map(([name, value]) => `- ${name.slice("identity_".length)}: ${abridge(oneLine(value), LINE_CHARS)}`)
    .join("\n");

function rosterLine({ id, name, is_board_lead, role }: Colleague, own_id: string): string {
  const handle = handleOf({ name, is_board_lead });
  const facts = [
    oneLine(name),
    abridge(oneLine(role), ROLE_CHARS),
    is_board_lead ? "lead" : "worker",
    `id ${id}`,
    ...(id === own_id ? ["you"] : []),
  ];
  return `- ${handle ?? "(no handle)"}: ${facts.join(", ")}`;
}

/** How an agent is mentioned (contract agents.md §8), or null when its name is none that a mention can hold. */
export function handleOf({ name, is_board_lead }: { name: string; is_board_lead: boolean }): string | null {
  if (is_board_lead) return "@lead";
  const [first = ""] = name.trim().toLowerCase().split(/\s+/, 1);
  return /^\p{L}[\p{L}\p{N}_-]{0,31}$/u.test(first) && first !== "lead" && first !== "all" ? `@${first}` : null;
}
