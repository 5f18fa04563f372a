import type { BoardMemoryEntry } from "@board/client";
import { type AddCommands, readText, startRun } from "../cli.ts";
import { collect } from "../collect.ts";
import { toSafeLine } from "../text.ts";
import { toCount } from "./tasks.ts";

export const addMemory: AddCommands = (program, host) => {
  program
    .command("remember <text>")
    .description("Write to the memory of the board; - reads standard input")
    .option("-t, --tags <tag...>", "tags of the entry")
    .option("--chat", "make it a chat message, which notifies the agents of the board")
    .action(async (text: string, { tags = [], chat }: { tags?: string[]; chat?: boolean }, command) => {
      const { output, openSession, stdin } = startRun(command, host);
      const session = await openSession();
      const params = { path: { board_id: await session.findBoardId() } };
      const body = { content: await readText(stdin, text), tags: chat ? [...tags, "chat"] : tags };
      const entry = await session.client.post("/api/v1/boards/{board_id}/memory", { params, body });
      output.result(entry, () => output.line(entry.id));
    });

  program
    .command("recall")
    .description("Show the memory of the board, newest first")
    .option("-n, --limit <number>", "how many entries", toCount, 20)
    .action(async ({ limit }: { limit: number }, command) => {
      const { output, openSession } = startRun(command, host);
      const session = await openSession();
      const params = { path: { board_id: await session.findBoardId() }, query: { limit: Math.min(limit, 200) } };
      const entries = await collect<BoardMemoryEntry>(session.client.list("/api/v1/boards/{board_id}/memory", { params }), limit);
      output.result(entries, () => {
        if (entries.length === 0) output.line("The memory is empty.");
        for (const { created_at, content } of entries) output.line(`${created_at}  ${toSafeLine(content ?? "", 1_000)}`);
      });
    });
};
