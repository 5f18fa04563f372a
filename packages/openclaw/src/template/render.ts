import type { TemplateSubject } from "./template-data.ts";
import { createTextValues } from "./text-values.ts";
import { DEFAULT_BUDGETS } from "@board/core/config/budgets";
import { type CountChars, createRenderBudget } from "./budget.ts";
import { type AgentRole, ROLE_FILES, type FileName, toRole } from "./files.ts";
import { fillTemplate, substitute, type Template } from "./substitute.ts";
import { AGENTS } from "./texts/agents.ts";
import { BOOTSTRAP } from "./texts/bootstrap.ts";
import { LEAD_HEARTBEAT, WORKER_HEARTBEAT } from "./texts/heartbeat.ts";
import { IDENTITY } from "./texts/identity.ts";
import { INSTRUCTIONS } from "./texts/instructions.ts";
import { LEAD_MEMORY, WORKER_MEMORY } from "./texts/memory.ts";
import { ROLES } from "./texts/roles.ts";
import { LEAD_SOUL, MAIN_SOUL, ROLE_SOUL, WORKER_SOUL } from "./texts/soul.ts";
import { TOOLS } from "./texts/tools.ts";
import { USER } from "./texts/user.ts";
import { ellipsize } from "@board/core/values/text";
import { quoteKeyLines } from "./token-line.ts";
import { type RenderOptions, type VariableValues, createValues } from "./values.ts";

export interface RenderedFile {
  name: FileName;
  content: string;
}

type Texts = Partial<Record<FileName, readonly Template[]>>;

const COMMON_TEXTS: Texts = { "IDENTITY.md": IDENTITY, "USER.md": USER };

const ROLE_TEXTS: Readonly<Record<AgentRole, Texts>> = {
  lead: {
    ...COMMON_TEXTS,
    "TOOLS.md": TOOLS.lead,
    "SOUL.md": LEAD_SOUL,
    "MEMORY.md": LEAD_MEMORY,
    "HEARTBEAT.md": LEAD_HEARTBEAT,
    "BOOTSTRAP.md": BOOTSTRAP,
    "AGENTS.md": AGENTS,
    "ROLES.md": ROLES,
  },
  worker: {
    ...COMMON_TEXTS,
    "TOOLS.md": TOOLS.worker,
    "SOUL.md": WORKER_SOUL,
    "MEMORY.md": WORKER_MEMORY,
    "HEARTBEAT.md": WORKER_HEARTBEAT,
    "BOOTSTRAP.md": BOOTSTRAP,
  },
  main: { ...COMMON_TEXTS, "TOOLS.md": TOOLS.main, "SOUL.md": MAIN_SOUL },
};

/**
 * Renders the files of an agent in writing order, trimmed and without empty files. Only TOOLS.md holds the token, and no other file
 * has a line that a parser could take for the token line. Throws RenderTooLarge.
 */
export function renderFiles(subject: TemplateSubject, options: RenderOptions): RenderedFile[] {
  const role = toRole(subject.agent);
  const values = createValues(subject, options);
  const textVariables = createTextValues(subject, values);
  const openBudget = createRenderBudget(options.limits ?? DEFAULT_BUDGETS);
  return ROLE_FILES[role].flatMap((name) => {
    const count = openBudget(name);
    const custom = customText(subject, name);
    const texts = role === "worker" && name === "SOUL.md" && textVariables.role_soul ? ROLE_SOUL : ROLE_TEXTS[role][name];
    const content = custom
      ? fillCustomText(custom, values, count)
      : (texts ?? []).map((text) => fillTemplate(text, textVariables, count)).join("\n\n");
    const safe = name === "TOOLS.md" ? content : quoteKeyLines(content);
    return safe ? [{ name, content: safe }] : [];
  });
}

/** Names are cut shorter than in files, because the instructions have a token limit. */
const NAME_CHARS = 100;

/** Renders the instructions of an agent that has no workspace, as Markdown. They contain no token. */
export function renderInstructions(subject: TemplateSubject, options: Pick<RenderOptions, "base_url" | "limits">): string {
  const values = createTextValues(subject, createValues(subject, { ...options, auth_token: "" }));
  const { agent_name, board_name, identity_role } = values;
  const short = {
    ...values,
    agent_name: ellipsize(agent_name, NAME_CHARS),
    board_name: ellipsize(board_name, NAME_CHARS),
    identity_role: ellipsize(identity_role, NAME_CHARS),
  };
  const count = createRenderBudget(options.limits ?? DEFAULT_BUDGETS)("instructions");
  return `${INSTRUCTIONS[toRole(subject.agent)].map((text) => fillTemplate(text, short, count)).join("\n\n")}\n`;
}

/** Returns the text with which people have replaced a file of the service, or null. */
function customText({ agent }: TemplateSubject, name: FileName): string | null {
  if (name === "IDENTITY.md") return agent.identity_template?.trim() || null;
  if (name === "SOUL.md") return agent.soul_template?.trim() || null;
  return null;
}

/** Replaces known variables and keeps all other text. `auth_token` is not available, so custom text cannot show the token. */
const fillCustomText = (text: string, values: VariableValues, count: CountChars): string =>
  substitute(text, (name) => (name === "auth_token" ? undefined : values.get(name)), count).trim();
