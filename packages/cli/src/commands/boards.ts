import { type AddCommands, startRun } from "../cli.ts";
import { listBoards } from "../session.ts";
import { collect } from "../collect.ts";
import { toCount } from "./tasks.ts";
import { PROGRAM } from "../program.ts";

interface CreateOptions {
  description: string;
  agents: number;
  approveDone?: boolean;
}

export const addBoards: AddCommands = (program, host) => {
  const boards = program
    .command("boards")
    .description("List the boards that you may see")
    .action(async (_options, command) => {
      const { output, openSession } = startRun(command, host);
      const { client, identity } = await openSession();
      const found = await collect(listBoards(client, identity));
      output.result(found, () =>
        output.table(
          found,
          [
            { title: "id", value: ({ id }) => id },
            { title: "name", value: ({ name }) => name, max: 40 },
            { title: "slug", value: ({ slug }) => slug, max: 40 },
            { title: "description", value: ({ description }) => description, max: 60 },
          ],
          `There is no board yet. Make one with "${PROGRAM} boards create <name>".`,
        ),
      );
    });

  boards
    .command("create <name>")
    .description("Make a board whose agents ask for their work")
    .option("--description <text>", "what the board is for", "")
    .option("--agents <number>", "how many agents it may have, the lead not counted", toCount, 5)
    .option("--approve-done", "a task needs an approval before it is done")
    .action(async (name: string, { description, agents, approveDone }: CreateOptions, command) => {
      const { output, openSession } = startRun(command, host);
      const { client } = await openSession();
      const board = await client.post("/api/v1/boards", {
        body: {
          name,
          description: description || name,
          gateway: "pull",
          max_agents: agents,
          require_approval_for_done: approveDone === true,
        },
      });
      output.result(board, () => output.line(`Board ${board.slug} is made. Its id is ${board.id}.`));
    });
};
