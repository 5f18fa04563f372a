import path from "node:path";
import { type AddCommands, startRun } from "../cli.ts";
import { collect } from "../collect.ts";
import { writePrivateFile } from "../config.ts";
import { type Connection, connectionLines, quote } from "../connection-lines.ts";
import { requireSecret } from "../failure.ts";
import { listAgents } from "../agents.ts";
import type { Output } from "../output.ts";
import { PROGRAM, programAnywhere } from "../program.ts";
import { listBoards, type Session } from "../session.ts";
import { toSafeLine } from "../text.ts";

const TOKEN_FILE = "where the token is stored; by default in the folder of the settings";

interface ConnectOptions {
  lead?: boolean;
  tokenFile?: string;
}

export const addAgent: AddCommands = (program, host) => {
  program
    .command("agents")
    .description("List the agents that you may see, or those of one board")
    .action(async (_options, command) => {
      const { output, openSession } = startRun(command, host);
      const session = await openSession();
      const found = await listAgents(session, session.namesBoard ? await session.findBoardId() : undefined);
      if (output.json) return output.result(found, () => {});
      const boards = new Map<string | null, string>();
      for (const { id, slug } of await collect(listBoards(session.client, session.identity))) boards.set(id, slug);
      output.table(
        found,
        [
          { title: "id", value: ({ id }) => id },
          { title: "name", value: ({ name }) => name, max: 40 },
          { title: "role", value: ({ is_board_lead, board_id }) => (is_board_lead ? "lead" : board_id ? "worker" : "main") },
          { title: "board", value: ({ board_id }) => boards.get(board_id) ?? board_id, max: 40 },
          { title: "status", value: ({ status }) => status },
          { title: "last seen", value: ({ last_seen_at }) => last_seen_at?.slice(0, 16).replace("T", " ") ?? "never" },
        ],
        `There is no agent yet. Make one with "${PROGRAM} agent connect <name>".`,
      );
    });

  const agent = program.command("agent").description("Agents of a board");

  agent
    .command("connect <name>")
    .description("Make an agent, store its token in a file, and print what connects it (admins and leads)")
    .option("--lead", "make it the lead, which coordinates the board")
    .option("--token-file <path>", TOKEN_FILE)
    .action(async (name: string, { lead, tokenFile }: ConnectOptions, command) => {
      const { output, openSession } = startRun(command, host);
      const session = await openSession();
      const board_id = await session.findBoardId();
      const { auth_token, ...agent } = await session.client.post("/api/v1/agents", {
        body: { name, board_id, is_board_lead: lead === true },
      });
      const remedy = `The agent exists. Give it a new token with "${PROGRAM} agent rotate ${agent.id}".`;
      const file = storeToken(session, agent.id, requireSecret(auth_token, remedy), tokenFile);
      const connections = connectionLines({ url: session.url, source: { file }, program: programAnywhere.map(quote).join(" ") });
      output.result({ agent, token_file: file, connections }, () => {
        output.line(`Agent ${toSafeLine(agent.name)} is made. Its token is in ${file}`);
        for (const connection of connections) printConnection(output, connection);
        output.line(
          "\nWhere there are three lines, the first connects the agent, the second starts it for a conversation with you, and the third lets it work alone.",
        );
      });
    });

  agent
    .command("rotate <id>")
    .description("Give an agent a new token, and store it in a file. The old one stops at once (admins)")
    .option("--token-file <path>", TOKEN_FILE)
    .action(async (agent_id: string, { tokenFile }: ConnectOptions, command) => {
      const { output, openSession } = startRun(command, host);
      const session = await openSession();
      const { auth_token } = await session.client.post("/api/v1/agents/{agent_id}/token", { params: { path: { agent_id } } });
      const token_file = auth_token === null ? null : storeToken(session, agent_id, auth_token, tokenFile);
      output.result({ agent_id, token_file }, () =>
        output.line(token_file ? `The new token is in ${token_file}` : "The old token has stopped. The host gets the new one."),
      );
    });
};

/**
 * Stores a token in a file and returns the path of the file. The token is not printed, because terminals and logs keep what is
 * printed.
 */
function storeToken({ config }: Session, agent_id: string, token: string, file?: string): string {
  const target = path.resolve(file ?? path.join(config.folder, "agents", `${agent_id}.token`));
  writePrivateFile(target, `${token}\n`);
  return target;
}

function printConnection(output: Output, { title, scope, line, attended, unattended }: Connection): void {
  output.line(`\n${output.bold(title)}${scope ? `, ${scope}` : ""}`);
  for (const text of [line, attended, unattended]) if (text) output.line(`  ${text}`);
}
