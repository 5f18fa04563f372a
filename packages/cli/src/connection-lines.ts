/** The commands that a person copies to connect one kind of agent. The console and the command line show the same commands. */
export interface Connection {
  title: string;
  /** Where the connection applies, if that depends on the folder. */
  scope?: string;
  /** The command that connects the agent. A person runs it once. */
  line: string;
  /** The command that starts the agent for a conversation with a person. */
  attended?: string;
  /** The command that starts the agent so that it works on tasks without a person. */
  unattended?: string;
}

/**
 * Where the commands get the token. Reading it from a file keeps it out of the shell history. Otherwise the commands contain the
 * token.
 */
export type TokenSource = { file: string } | { token: string };

interface Facts {
  url: string;
  source: TokenSource;
  /** The path of the command line, either absolute or relative to the folder of the agent. */
  program?: string;
}

const PROMPT = '"Work on the tasks of your board."';
const EVERYWHERE = "in every folder";

export function connectionLines({ url, source, program }: Facts): Connection[] {
  const token = "file" in source ? `$(cat ${quote(source.file)})` : source.token;
  const header = `"Authorization: Bearer ${token}"`;
  // These clients would write the token into files that other users may read, so they read the token from the environment.
  const environment = "file" in source ? `BOARD_TOKEN="${token}"` : `BOARD_TOKEN=${token}`;
  const mcp = `${url}/mcp`;
  // opencode can read the token from a file at every start.
  const [reference, opencode] =
    "file" in source ? [`{file:${source.file}}`, "opencode"] : ["{env:BOARD_TOKEN}", `${environment} opencode`];
  const shell = `export BOARD_URL=${url} ${"file" in source ? `BOARD_TOKEN_FILE=${quote(source.file)}` : environment}`;
  return [
    {
      title: "Claude Code",
      scope: `${EVERYWHERE}; with --scope local in this one only, so that another agent can have another folder`,
      line: `claude mcp add --scope user --transport http board ${mcp} --header ${header}`,
      attended: "claude",
      unattended: `claude -p ${PROMPT} --allowedTools mcp__board`,
    },
    {
      title: "Codex",
      scope: `${EVERYWHERE}; without BOARD_TOKEN it starts without the board and does not say so`,
      line: `codex mcp add board --url ${mcp} --bearer-token-env-var BOARD_TOKEN`,
      attended: `${environment} codex`,
      unattended: `${environment} codex exec --skip-git-repo-check ${PROMPT}`,
    },
    {
      title: "opencode",
      scope: EVERYWHERE,
      line: `opencode mcp add board --url ${mcp} --header ${quote(`Authorization=Bearer ${reference}`)}`,
      attended: opencode,
      unattended: `${opencode} run ${PROMPT}`,
    },
    {
      title: "Gemini CLI",
      scope: `${EVERYWHERE}; without --trust it has no tools of the board when it works alone`,
      line: `gemini mcp add --scope user --transport http --trust --header 'Authorization: Bearer $BOARD_TOKEN' board ${mcp}`,
      attended: `${environment} gemini`,
      unattended: `${environment} gemini --skip-trust -p ${PROMPT}`,
    },
    {
      title: "Cursor and others with an mcp.json",
      scope: "in the folder of .cursor/mcp.json, or in every folder with ~/.cursor/mcp.json",
      line: toMcpJson(mcp, "file" in source ? "${env:BOARD_TOKEN}" : source.token),
      ...("file" in source && { attended: `${environment} cursor .` }),
    },
    ...(program === undefined ? [] : [{ title: "A shell", line: `${shell}; ${program} inbox; ${program} next` }]),
    { title: "curl", line: `curl -s -H "X-Agent-Token: ${token}" ${url}/api/v1/agent/inbox` },
    { title: "TypeScript", line: toTypeScript(url, source) },
  ];
}

const toMcpJson = (url: string, token: string): string =>
  JSON.stringify({ mcpServers: { board: { url, headers: { Authorization: `Bearer ${token}` } } } });

function toTypeScript(url: string, source: TokenSource): string {
  const [imports, token] =
    "file" in source
      ? ['import { readFileSync } from "node:fs"; ', `readFileSync(${JSON.stringify(source.file)}, "utf8").trim()`]
      : ["", JSON.stringify(source.token)];
  const call = `createClient({ url: ${JSON.stringify(url)}, agent_token: ${token} })`;
  return `${imports}import { createClient } from "@board/client"; const agent = ${call};`;
}

/** Quotes a word for a POSIX shell. */
export const quote = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
