import path from "node:path";
import { type AddCommands, startRun } from "../cli.ts";
import { writePrivateFile } from "../config.ts";
import { toSafeLine } from "../text.ts";

interface ConnectOptions {
  lead?: boolean;
  tokenFile?: string;
}

export const addAgent: AddCommands = (program, host) => {
  program
    .command("agent")
    .description("Agents of a board")
    .command("connect <name>")
    .description("Make an agent, store its token in a file, and print what connects it (admins and leads)")
    .option("--lead", "it coordinates the board")
    .option("--token-file <path>", "where the token is stored; by default in the folder of the settings")
    .action(async (name: string, { lead, tokenFile }: ConnectOptions, command) => {
      const { output, openSession } = startRun(command, host);
      const session = await openSession();
      const board_id = await session.findBoardId();
      const { auth_token, ...agent } = await session.client.post("/api/v1/agents", {
        body: { name, board_id, is_board_lead: lead === true },
      });
      // Only this answer holds the token. It is not printed, because terminals and logs keep what is printed.
      const file = path.resolve(tokenFile ?? path.join(session.config.folder, "agents", `${agent.id}.token`));
      writePrivateFile(file, `${auth_token}\n`);
      const connections = linesFor(session.url, file);
      output.result({ agent, token_file: file, connections }, () => {
        output.line(`Agent ${toSafeLine(agent.name)} is made. Its token is in ${file}\n`);
        for (const { title, line } of connections) output.line(`${output.bold(title)}\n  ${line}\n`);
      });
    });
};

/** Lines to copy. They read the token from the file, so that it is in no history of commands. */
function linesFor(url: string, file: string): { title: string; line: string }[] {
  const read = `$(cat ${quote(file)})`;
  return [
    {
      title: "Claude Code and other clients of MCP",
      line: `claude mcp add --transport http board ${url}/mcp --header "Authorization: Bearer ${read}"`,
    },
    { title: "A shell", line: `export BOARD_URL=${url} BOARD_TOKEN_FILE=${quote(file)}; board inbox; board next` },
    { title: "curl", line: `curl -s -H "X-Agent-Token: ${read}" ${url}/api/v1/agent/inbox` },
    {
      title: "TypeScript",
      line: `createClient({ url: ${JSON.stringify(url)}, agent_token: readFileSync(${JSON.stringify(file)}, "utf8").trim() })`,
    },
  ];
}

/** Quotes a word for a POSIX shell. */
const quote = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
