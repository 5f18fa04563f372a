import type { Task } from "@board/client";
import { InvalidArgumentError } from "commander";
import { type AddCommands, readText, startRun } from "../cli.ts";
import { namesOfAgents } from "../agents.ts";
import { collect } from "../collect.ts";
import { addUsageOptions, hasUsage, reportUsage, type UsageOptions } from "../usage-options.ts";
import { UsageError } from "../failure.ts";
import { PROGRAM } from "../program.ts";
import { findLease, requireAgent } from "../session.ts";
import { printTask, taskColumns } from "../task-view.ts";
import { changeTask, commentOnTask, requireTaskId, type TaskStatus, toStatus } from "../task-calls.ts";

const DEFAULT_LIMIT = 50;

/** Parses an option that is a whole number of at least `least`. */
export const toIntegerFrom =
  (least: number) =>
  (text: string): number => {
    const number = Number(text);
    if (text.trim() === "" || !Number.isInteger(number) || number < least)
      throw new InvalidArgumentError(`It must be a whole number from ${least}.`);
    return number;
  };

export const toCount = toIntegerFrom(1);

interface TasksOptions {
  status?: string;
  mine?: boolean;
  unassigned?: boolean;
  limit: number;
  all?: boolean;
}

interface CreateOptions {
  description?: string;
  priority?: string;
  due?: string;
  assign?: string;
  dependsOn?: string[];
}

export const addTasks: AddCommands = (program, host) => {
  program
    .command("tasks")
    .description("List the tasks of a board, newest first")
    .option("-s, --status <list>", "only these, separated by commas: inbox, in_progress, review, done, blocked")
    .option("--mine", "only your own (for agents)")
    .option("--unassigned", "only tasks that nobody has")
    .option("-n, --limit <number>", "how many", toCount, DEFAULT_LIMIT)
    .option("--all", "all of them")
    .action(async ({ status, mine, unassigned, limit, all }: TasksOptions, command) => {
      const { output, openSession } = startRun(command, host);
      const session = await openSession();
      if (mine && session.identity.type !== "agent") throw new UsageError("Only agents have tasks assigned to them.");
      const board_id = await session.findBoardId();
      const query = {
        limit: all ? 200 : Math.min(limit + 1, 200),
        ...(status !== undefined && { status }),
        ...(unassigned && { unassigned }),
        ...(mine && session.identity.type === "agent" && { assigned_agent_id: session.identity.agent_id }),
      };
      const found = await collect<Task>(
        session.client.list("/api/v1/boards/{board_id}/tasks", { params: { path: { board_id }, query } }),
        all ? undefined : limit + 1,
      );
      const tasks = all ? found : found.slice(0, limit);
      output.result(tasks, () => {
        output.table(tasks, taskColumns, "No tasks.");
        if (found.length > tasks.length) output.line(`These are the newest ${limit}. "${PROGRAM} tasks --all" lists all.`);
      });
    });

  const task = program.command("task").description("Show and change one task");

  task
    .command("show <task>")
    .description("Show a task with its comments")
    .action(async (text: string, _options, command) => {
      const { output, openSession } = startRun(command, host);
      const session = await openSession();
      const task_id = requireTaskId(text);
      const path = { board_id: await session.findBoardIdOf(task_id), task_id };
      const found = await session.client.get("/api/v1/boards/{board_id}/tasks/{task_id}", { params: { path } });
      const comments = await collect(
        session.client.list("/api/v1/boards/{board_id}/tasks/{task_id}/comments", { params: { path } }),
      );
      if (output.json) return output.result({ ...found, comments }, () => {});
      printTask(output, found, comments, await namesOfAgents(session, found, comments));
    });

  task
    .command("create <title>")
    .description("Create a task (people and leads)")
    .option("-d, --description <text>", "what is to be done; - reads standard input")
    .option("-p, --priority <priority>", "high, medium or low")
    .option("--due <time>", "when it is due, as an ISO 8601 time")
    .option("--assign <agent>", "id of the agent that gets it")
    .option("--depends-on <task...>", "ids of tasks that must be done first")
    .action(async (title: string, options: CreateOptions, command) => {
      const { output, openSession, stdin } = startRun(command, host);
      const session = await openSession();
      const path = { board_id: await session.findBoardId() };
      const body = {
        title,
        ...(options.description !== undefined && { description: await readText(stdin, options.description) }),
        ...(options.priority !== undefined && { priority: options.priority }),
        ...(options.due !== undefined && { due_at: options.due }),
        ...(options.assign !== undefined && { assigned_agent_id: options.assign }),
        ...(options.dependsOn !== undefined && { depends_on_task_ids: options.dependsOn }),
      };
      const route =
        session.identity.type === "agent" ? "/api/v1/agent/boards/{board_id}/tasks" : "/api/v1/boards/{board_id}/tasks";
      const created = await session.client.post(route, { params: { path }, body });
      output.result(created, () => output.line(created.id));
    });

  task
    .command("move <task> <status>")
    .description("Move a task to inbox, in_progress, review, done or blocked")
    .option("-m, --comment <text>", "a comment in the same change; - reads standard input")
    .action(async (text: string, status: string, { comment }: { comment?: string }, command) => {
      const run = startRun(command, host);
      const session = await run.openSession();
      const task_id = requireTaskId(text);
      const moved = await changeTask(
        session,
        task_id,
        { status: toStatus(status) },
        comment && (await readText(run.stdin, comment)),
      );
      run.output.result(moved, () => run.output.line(`${moved.status}: ${moved.id}`));
    });

  task
    .command("comment <task> <text>")
    .description("Comment on a task, which also renews its lease; - reads standard input")
    .action(async (id: string, text: string, _options, command) => {
      const { output, openSession, stdin } = startRun(command, host);
      const comment = await commentOnTask(await openSession(), requireTaskId(id), await readText(stdin, text));
      output.result(comment, () => output.line(`Commented on ${comment.task_id}.`));
    });

  const done = program
    .command("done [task]")
    .description("Finish a task: people and leads move it to done, other agents to review. By default the task of your lease")
    .option("-m, --comment <text>", "the result; - reads standard input")
    .option("--to <status>", "move it to this status instead");
  addUsageOptions(done).action(
    async (text: string | undefined, { comment, to, ...usage }: { comment?: string; to?: string } & UsageOptions, command) => {
      const { output, openSession, stdin } = startRun(command, host);
      const session = await openSession();
      if (hasUsage(usage)) requireAgent(session, "Only agents report usage.");
      const { identity } = session;
      const task_id = text === undefined ? heldTask(session) : requireTaskId(text);
      const usual: TaskStatus = identity.type === "agent" && !identity.is_board_lead ? "review" : "done";
      const status = to === undefined ? usual : toStatus(to);
      const moved = await changeTask(session, task_id, { status }, comment && (await readText(stdin, comment)));
      output.result(moved, () => output.line(`${moved.status}: ${moved.id}`));
      // Usage is reported after the change, because a report that reaches the limit of a budget ends the lease.
      if (hasUsage(usage)) await reportUsage(session, usage, task_id);
    },
  );
};

/** Returns the id of the only task that this agent holds by a lease. */
export function heldTask(session: Parameters<typeof findLease>[0]): string {
  const held = Object.keys(session.config.leases).filter((id) => findLease(session, id));
  if (held.length === 1) return held[0]!;
  throw new UsageError(
    held.length === 0 ? "You hold no task by a lease. Name the task." : `You hold several tasks. Name one: ${held.join(", ")}`,
  );
}
