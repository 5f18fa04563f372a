import type { TemplateSubject } from "./context.ts";
import { textValues } from "./blocks.ts";
import { type AgentRole, FILES, type FileName, roleOf } from "./files.ts";
import { fill, substitute, type Template } from "./substitute.ts";
import { AGENTS } from "./texts/agents.ts";
import { BOOTSTRAP } from "./texts/bootstrap.ts";
import { LEAD_HEARTBEAT, WORKER_HEARTBEAT } from "./texts/heartbeat.ts";
import { IDENTITY } from "./texts/identity.ts";
import { LEAD_MEMORY, WORKER_MEMORY } from "./texts/memory.ts";
import { ROLES } from "./texts/roles.ts";
import { LEAD_SOUL, MAIN_SOUL, ROLE_SOUL, WORKER_SOUL } from "./texts/soul.ts";
import { TOOLS } from "./texts/tools.ts";
import { USER } from "./texts/user.ts";
import { withoutKeyLines } from "./token-line.ts";
import { type RenderOptions, type Values, valuesOf } from "./values.ts";

export interface RenderedFile {
  name: FileName;
  content: string;
}

type Texts = Partial<Record<FileName, readonly Template[]>>;

const OF_ALL: Texts = { "IDENTITY.md": IDENTITY, "USER.md": USER };

const TEXTS: Readonly<Record<AgentRole, Texts>> = {
  lead: {
    ...OF_ALL,
    "TOOLS.md": TOOLS.lead,
    "SOUL.md": LEAD_SOUL,
    "MEMORY.md": LEAD_MEMORY,
    "HEARTBEAT.md": LEAD_HEARTBEAT,
    "BOOTSTRAP.md": BOOTSTRAP,
    "AGENTS.md": AGENTS,
    "ROLES.md": ROLES,
  },
  worker: {
    ...OF_ALL,
    "TOOLS.md": TOOLS.worker,
    "SOUL.md": WORKER_SOUL,
    "MEMORY.md": WORKER_MEMORY,
    "HEARTBEAT.md": WORKER_HEARTBEAT,
    "BOOTSTRAP.md": BOOTSTRAP,
  },
  main: { ...OF_ALL, "TOOLS.md": TOOLS.main, "SOUL.md": MAIN_SOUL },
};

/**
 * The files of an agent in writing order, each trimmed; those that come out empty are left out. The token is in TOOLS.md
 * alone, and no other file has a line that could be taken for it.
 */
export function renderFiles(subject: TemplateSubject, options: RenderOptions): RenderedFile[] {
  const role = roleOf(subject.agent);
  const values = valuesOf(subject, options);
  const forTexts = textValues(subject, values);
  return FILES[role].flatMap((name) => {
    const own = ownText(subject, name);
    const texts = role === "worker" && name === "SOUL.md" && forTexts.role_soul ? ROLE_SOUL : TEXTS[role][name];
    const content = own ? fillOwn(own, values) : (texts ?? []).map((text) => fill(text, forTexts)).join("\n\n");
    const safe = name === "TOOLS.md" ? content : withoutKeyLines(content);
    return safe ? [{ name, content: safe }] : [];
  });
}

/** What people put in the place of our text. */
function ownText({ agent }: TemplateSubject, name: FileName): string | null {
  if (name === "IDENTITY.md") return agent.identity_template?.trim() || null;
  if (name === "SOUL.md") return agent.soul_template?.trim() || null;
  return null;
}

/** Text of people: data in which known names are replaced, and everything else stays. The token cannot be had this way. */
const fillOwn = (text: string, values: Values): string =>
  substitute(text, (name) => (name === "auth_token" ? undefined : values.get(name))).trim();
