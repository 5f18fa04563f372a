import * as z from "zod";
import { isInside, pathsOf } from "./tool-paths.ts";

/** What an agent asks to do: the facts that a policy can match. */
export interface ToolRequest {
  tool_kind: string;
  title: string;
  command: string | null;
  /** The files that the request concerns, as the agent names them. */
  paths: readonly string[];
}

export type PolicyDecision = "allow" | "deny" | "ask";

const oneOrMore = <T extends z.ZodType>(schema: T) => z.union([schema, z.array(schema).min(1).max(100)]);
const TOOL_KINDS = ["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"] as const;

const Rule = z
  .strictObject({
    tool_kind: oneOrMore(z.enum(TOOL_KINDS)).optional().describe("Kinds of tools."),
    title: z.string().max(400).optional().describe("What the title matches; * stands for any text."),
    command: z
      .string()
      .max(400)
      .optional()
      .describe(
        "The words with which a command begins. A rule that allows matches only a single command without a shell's signs.",
      ),
    path: z
      .string()
      .max(400)
      .optional()
      .describe("What every file matches, relative to the folder of the task; ** stands for any folders."),
    decision: z.enum(["allow", "deny", "ask"]).describe("What happens when everything that the rule names matches."),
  })
  .describe("A rule. The first that matches decides.");

export const Policy = z
  .strictObject({
    $schema: z.string().optional(),
    rules: z.array(Rule).max(500),
  })
  .meta({ title: "Policy of the runner", description: "What a coding agent may do without asking a person." });
export type Policy = z.infer<typeof Policy>;
type Rule = Policy["rules"][number];

/** Reads a policy from the text of its file. */
export function parsePolicy(text: string, file: string): Policy {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`${file} is not valid JSON: ${(error as Error).message}`, { cause: error });
  }
  const parsed = Policy.safeParse(value);
  if (!parsed.success) throw new Error(`${file} is not a policy: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/**
 * Decides by the first rule that matches. If no rule matches, file operations and searches inside the folder are allowed, and a
 * person is asked about the rest.
 */
export function decideByPolicy(policy: Policy | null, request: ToolRequest, folder: string): PolicyDecision {
  const rule = policy?.rules.find((candidate) => doesMatch(candidate, request, folder));
  return rule?.decision ?? decideByDefault(request, folder);
}

const HARMLESS_WITHOUT_PATH = new Set(["think", "search"]);
const INSIDE_ONLY = new Set(["read", "search", "edit", "delete", "move"]);

function decideByDefault({ tool_kind, paths }: ToolRequest, folder: string): PolicyDecision {
  if (paths.length === 0) return HARMLESS_WITHOUT_PATH.has(tool_kind) ? "allow" : "ask";
  return INSIDE_ONLY.has(tool_kind) && paths.every((path) => isInside(folder, path)) ? "allow" : "ask";
}

function doesMatch(rule: Rule, request: ToolRequest, folder: string): boolean {
  const { tool_kind, title, command, path, decision } = rule;
  const allows = decision === "allow";
  if (tool_kind !== undefined && ![tool_kind].flat().some((kind) => kind === request.tool_kind)) return false;
  if (title !== undefined && !doesGlobMatch(title, request.title, false, allows)) return false;
  if (command !== undefined && !(request.command !== null && doesCommandMatch(command, request.command, allows))) return false;
  if (path === undefined) return true;
  const matches = pathsOf(folder, request.paths).map((name) => doesGlobMatch(path, name, true, allows));
  return matches.length > 0 && (allows ? !matches.includes(false) : matches.includes(true));
}

/** Characters with which a shell runs a second command or writes into files. */
export const SHELL_SIGNS = /[;&|`$<>()\n\r\\]/;

/**
 * Returns whether a rule matches a command line. A rule that allows `git status` must not match `git status; rm -rf ~`. A rule that
 * denies or asks matches if any command in the line matches.
 */
function doesCommandMatch(prefix: string, line: string, allows: boolean): boolean {
  const begins = (command: string) => command === prefix || command.startsWith(`${prefix} `);
  if (allows) return !SHELL_SIGNS.test(line) && begins(line.trim().replaceAll(/\s+/g, " "));
  return line.split(/[;&|`()\n\r]|\$\(/).some((command) => begins(command.trim().replaceAll(/\s+/g, " ")));
}

/** The longest text, in characters, that is compared with a pattern. With many stars in the pattern, a longer text could take long. */
const MAX_MATCHED = 1_000;

/**
 * Returns whether a pattern matches. A text longer than MAX_MATCHED counts as a match if the pattern denies or asks, but not if it
 * allows.
 */
const doesGlobMatch = (glob: string, text: string, isPath: boolean, allows: boolean): boolean =>
  text.length > MAX_MATCHED ? !allows : toPattern(glob, isPath).test(text);

/**
 * Converts a pattern with `*`. In paths, a single star stays within one folder. Three or more stars count as two, so that matching
 * stays fast.
 */
function toPattern(glob: string, isPath: boolean): RegExp {
  const parts = glob.replaceAll(/\*{3,}/g, "**").split(/(\*\*\/?|\*)/);
  const source = parts.map((part) => {
    if (part === "**/") return isPath ? "(?:[^/]+/)*" : "[^]*";
    if (part === "**" || (part === "*" && !isPath)) return "[^]*";
    if (part === "*") return "[^/]*";
    return part.replaceAll(/[.+?^${}()|[\]\\/-]/g, String.raw`\$&`);
  });
  return new RegExp(`^${source.join("")}$`, "i");
}
