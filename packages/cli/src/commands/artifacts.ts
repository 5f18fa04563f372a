import { pipeline } from "node:stream/promises";
import type { Artifact } from "@board/client";
import { attachFile, openContent, saveContent } from "../artifact-calls.ts";
import { type AddCommands, startRun } from "../cli.ts";
import { collect } from "../collect.ts";
import { UsageError } from "../failure.ts";
import type { Column } from "../output.ts";
import { PROGRAM } from "../program.ts";
import { UUID } from "../session.ts";
import { requireTaskId } from "../task-calls.ts";
import { toSafeLine } from "../text.ts";

const columns: Column<Artifact>[] = [
  { title: "id", value: ({ id }) => id },
  { title: "name", value: ({ name }) => name, max: 60 },
  { title: "type", value: ({ content_type }) => content_type },
  { title: "bytes", value: ({ size }) => size },
  { title: "status", value: ({ status }) => status },
  { title: "added", value: ({ created_at }) => created_at.slice(0, 16).replace("T", " ") },
];

/** The commands for files of tasks: `artifacts` lists files, `attach` adds a file and `artifact get` saves a file. */
export const addArtifacts: AddCommands = (program, host) => {
  program
    .command("artifacts <task>")
    .description("List the files of a task, oldest first")
    .action(async (text: string, _options, command) => {
      const { output, openSession } = startRun(command, host);
      const task_id = requireTaskId(text);
      const session = await openSession();
      const path = { board_id: await session.findBoardIdOf(task_id), task_id };
      const list = session.client.list("/api/v1/boards/{board_id}/tasks/{task_id}/artifacts", {
        params: { path, query: { limit: 200 } },
      });
      const artifacts = await collect<Artifact>(list);
      output.result(artifacts, () => output.table(artifacts, columns, "No files."));
    });

  program
    .command("attach <task> <file>")
    .description("Add a file to a task")
    .action(async (text: string, file: string, _options, command) => {
      const { output, openSession } = startRun(command, host);
      const task_id = requireTaskId(text);
      const session = await openSession();
      const artifact = await attachFile(session, { board_id: await session.findBoardIdOf(task_id), task_id }, file);
      output.result(artifact, () => output.line(`${toSafeLine(artifact.name, 200)} is on the task as ${artifact.id}.`));
    });

  program
    .command("artifact")
    .description("Get one file of a task")
    .command("get <artifact>")
    .description("Write the content of a file to standard output, or save it")
    .option("-o, --output <file>", "where to save it")
    .action(async (artifact_id: string, { output: file }: { output?: string }, command) => {
      const { output, openSession, stdout } = startRun(command, host);
      if (!UUID.test(artifact_id))
        throw new UsageError(`${artifact_id} is not the id of a file. "${PROGRAM} artifacts <task>" shows the ids.`);
      // A file may contain escape sequences that control the terminal.
      if (file === undefined && stdout.isTTY) throw new UsageError("Save the file with --output, or send it to another program.");
      const session = await openSession();
      const path = { board_id: await session.findBoardId(), artifact_id };
      if (file === undefined) return pipeline(await openContent(session, path), stdout, { end: false });
      await saveContent(session, path, file);
      output.result({ artifact_id, file }, () => output.line(`Saved as ${file}.`));
    });
};
