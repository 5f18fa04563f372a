import type { Approval } from "@board/client";
import { InvalidArgumentError } from "commander";
import { type AddCommands, readText, startRun } from "../cli.ts";
import { collect } from "../collect.ts";
import { UsageError } from "../failure.ts";
import { UUID } from "../session.ts";
import { toSafeLine } from "../text.ts";
import { PROGRAM } from "../program.ts";
import { permissionOf, printPermission } from "../permission-view.ts";

interface ApproveOptions {
  reject?: boolean;
  option?: string;
  answer?: string;
  show?: boolean;
}

function findOption(approval: Approval, wanted: string) {
  const options = permissionOf(approval)?.options ?? answersOf(approval);
  const found = options.find(({ id, name }) => id === wanted || name.toLowerCase() === wanted.toLowerCase());
  if (found) return found;
  const names = options.map(({ name }) => toSafeLine(name)).join(", ");
  throw new UsageError(`The approval has no option ${wanted}.${names === "" ? "" : ` Use one of: ${names}`}`);
}

/** Returns the answers that a question offers, in the form of the options that other approvals have. */
const answersOf = ({ action_type, payload }: Approval) => {
  const options = action_type === "question" ? payload?.["options"] : undefined;
  return (Array.isArray(options) ? options : []).map((option) => ({ id: "", name: String(option), kind: "answer" }));
};

interface AskOptions {
  reason: string;
  option?: string[];
  text?: boolean;
  task?: string[];
  confidence?: number;
}

function toPercent(text: string): number {
  const number = Number(text);
  if (text.trim() === "" || !(number >= 0 && number <= 100)) throw new InvalidArgumentError("It must be a number from 0 to 100.");
  return number;
}

export const addApprovals: AddCommands = (program, host) => {
  program
    .command("approvals")
    .description("List the approvals that wait for a decision")
    .option("--all", "also the decided ones")
    .action(async ({ all }: { all?: boolean }, command) => {
      const { output, openSession } = startRun(command, host);
      const session = await openSession();
      const params = { path: { board_id: await session.findBoardId() }, query: all ? {} : { status: "pending" as const } };
      const found = await collect<Approval>(session.client.list("/api/v1/boards/{board_id}/approvals", { params }));
      output.result(found, () =>
        output.table(
          found,
          [
            { title: "id", value: ({ id }) => id },
            { title: "status", value: ({ status }) => status },
            { title: "action", value: ({ action_type }) => action_type, max: 30 },
            { title: "reason", value: ({ description }) => description, max: 60 },
            { title: "tasks", value: ({ task_titles }) => task_titles.join(", "), max: 40 },
          ],
          "No approval waits for a decision.",
        ),
      );
    });

  program
    .command("approve <approval>")
    .description("Approve what an agent asks for, or reject it (people)")
    .option("--reject", "reject it")
    .option("--option <name>", "for a permission or question: the option to choose, by its name or id")
    .option("--answer <text>", "for a question: the answer in your own words")
    .option("--show", "only show what is asked for")
    .action(async (approval_id: string, { reject, option, answer, show }: ApproveOptions, command) => {
      const { output, openSession } = startRun(command, host);
      if (!UUID.test(approval_id))
        throw new UsageError(`${approval_id} is not the id of an approval. "${PROGRAM} approvals" shows the ids.`);
      const session = await openSession();
      const path = { board_id: await session.findBoardId(), approval_id };
      const params = { path };
      const asked =
        option !== undefined || show
          ? await session.client.get("/api/v1/boards/{board_id}/approvals/{approval_id}", { params })
          : undefined;
      if (show) return output.result(asked, () => printPermission(output, asked!));
      const chosen = asked && findOption(asked, option!);
      const rejects = chosen ? chosen.kind.startsWith("reject") : reject === true;
      if (reject && (!rejects || answer !== undefined))
        throw new UsageError("Leave out --reject, or choose no answer and no option that allows.");
      const answers = {
        ...(chosen?.kind === "answer" ? { option: chosen.name } : {}),
        ...(answer === undefined ? {} : { text: answer }),
      };
      const decided = await session.client.patch("/api/v1/boards/{board_id}/approvals/{approval_id}", {
        params,
        body: {
          status: rejects ? "rejected" : "approved",
          ...(chosen && chosen.kind !== "answer" ? { option_id: chosen.id } : {}),
          ...(Object.keys(answers).length > 0 ? { answer: answers } : {}),
        },
      });
      output.result(decided, () => output.line(`${decided.status}: ${decided.id}`));
    });

  program
    .command("ask <action>")
    .description(
      "Ask people for an approval before you act, such as: board ask deploy --reason 'All tests pass'. The action question asks for an answer",
    )
    .requiredOption("-r, --reason <text>", "why; - reads standard input")
    .option("-t, --task <task...>", "ids of the tasks concerned")
    .option("--option <answer...>", "for the action question: 2 to 4 answers to choose from")
    .option("--text", "for the action question: also allow an answer in the person's own words")
    .option("--confidence <percent>", "how sure you are, 0 to 100", toPercent)
    .action(async (action_type: string, { reason, task, option, text, confidence }: AskOptions, command) => {
      const { output, openSession, stdin } = startRun(command, host);
      const session = await openSession();
      const body = {
        action_type,
        description: await readText(stdin, reason),
        ...(task && { task_ids: task }),
        ...(option && { options: option }),
        ...(text && { allow_text: true }),
        ...(confidence !== undefined && { confidence }),
      };
      const params = { path: { board_id: await session.findBoardId() } };
      const created = await session.client.post("/api/v1/boards/{board_id}/approvals", { params, body });
      output.result(created, () => output.line(created.id));
    });
};
