import type { ApprovalEvent, TaskEvent } from "@board/client";
import { type AddCommands, startRun } from "../cli.ts";
import type { Output } from "../output.ts";
import { toSafeLine } from "../text.ts";

export const addWatch: AddCommands = (program, host) => {
  program
    .command("watch")
    .description("Print changes of tasks and approvals as they happen, until Ctrl-C")
    .option("--since <time>", "begin with the changes after this ISO 8601 time")
    .action(async ({ since }: { since?: string }, command) => {
      const { output, openSession } = startRun(command, host);
      const session = await openSession();
      const board_id = await session.findBoardId();
      const params = { path: { board_id }, query: since === undefined ? {} : { since } };
      const tasks = session.client.stream("/api/v1/boards/{board_id}/tasks/stream", { params });
      const approvals = session.client.stream("/api/v1/boards/{board_id}/approvals/stream", { params });
      await Promise.all([print(tasks, output, taskLine), print(approvals, output, approvalLine)]);
    });
};

interface Event<Data> {
  id: string;
  event: string;
  data: Data;
}

async function print<Data>(events: AsyncIterable<Event<Data>>, output: Output, toLine: (data: Data) => string): Promise<void> {
  for await (const { id, event, data } of events) output.event({ id, event, data }, () => output.line(toLine(data)));
}

function taskLine({ type, activity }: TaskEvent): string {
  const text = type === "task.comment" ? `Comment on ${activity.task_id}: ${activity.message}` : (activity.message ?? "");
  return `${activity.created_at}  ${type.padEnd(20)}  ${toSafeLine(text, 200)}`;
}

function approvalLine({ approval: { updated_at, status, action_type, id } }: ApprovalEvent): string {
  return `${updated_at}  ${`approval.${status}`.padEnd(20)}  ${toSafeLine(action_type, 100)} ${id}`;
}
