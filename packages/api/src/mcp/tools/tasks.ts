import { type Agent, agent, lead, type Lead, type Role, type User, user, userOrAgent } from "@board/core/context/actor";
import { as, type Context, transaction } from "@board/core/context/context";
import { DomainError } from "@board/core/values/errors";
import { ArtifactNote, createNoteArtifact } from "@board/core/artifact/note";
import { readFinished } from "@board/core/artifact/artifact";
import { createComment } from "@board/core/task/comment/comment";
import { createTask } from "@board/core/task/create";
import { CreateTask, UpdateTask } from "@board/core/task/input";
import { listTasks, TaskQuery } from "@board/core/task/list";
import { releaseTask } from "@board/core/task/lease/release";
import type { Task } from "@board/core/task/task";
import { COMMENTS, getTaskDetail, TaskDetail } from "@board/core/task/task-detail";
import { updateTask } from "@board/core/task/update";
import { UsageOfCall } from "@board/core/usage/entry";
import { reportUsageOfCall } from "@board/core/usage/report";
import { Id, Integer, MAX_INTEGER, MAX_NAME, MAX_TEXT, NonEmpty } from "@board/core/values/wire";
import * as z from "zod";
import { CommentView, commentsText, moreComments, toCommentView } from "../comment-view.ts";
import { ApprovalRow, approvalText, toApprovalRow } from "../approval-view.ts";
import { ArtifactRow, artifactsText, toArtifactRow } from "../artifact-view.ts";
import { fencedRows } from "../fenced.ts";
import { firstRows, MAX_ROWS, moreOf } from "../limits.ts";
import { TaskRow, taskRowsText, taskText, TaskView, toTaskRow, toTaskView } from "../task-view.ts";
import { boardIdOf, type Caller, tool, type ToolResult, toQuery } from "../tool.ts";
import { toToolError } from "../tool-error.ts";

const board_id = Id.optional();
const task_id = Id;
const fence = Integer(0, MAX_INTEGER).optional();
const usage = UsageOfCall.optional();
const USAGE = "input_tokens, output_tokens, cost_usd, model";

/**
 * Runs a change and then counts what the agent used for the task, even if the change fails, because the tokens were used anyway.
 * If only the count fails, the call succeeds: after an error, the agent would repeat the call and store the change twice.
 */
async function withUsage<T>(
  ctx: Context<Caller>,
  task_id: string,
  usage: UsageOfCall | undefined,
  change: () => Promise<T>,
): Promise<{ changed: T; usage_problem?: string }> {
  if (usage === undefined) return { changed: await change() };
  if (ctx.actor.type !== "agent") throw new DomainError("forbidden", "Only agents report usage.");
  const asAgent = as(ctx, agent);
  const count = () =>
    reportUsageOfCall(asAgent, task_id, usage).then(
      () => ({}),
      async (error: unknown) => ({ usage_problem: (await toToolError(error, true, ctx.log)).message }),
    );
  // The change comes first: if the usage report reaches the limit of a budget, it ends the lease.
  const changed = await change().catch(async (error: unknown) => {
    await count();
    throw error;
  });
  return { changed, ...(await count()) };
}

/**
 * Adds to a result that the change is stored, but not its usage. The field is rare, so the list of tools, which costs tokens, does
 * not have it.
 */
const withUsageProblem = <Data extends object>(result: ToolResult<Data>, problem: { usage_problem?: string }) => ({
  data: { ...result.data, ...problem },
  text: problem.usage_problem
    ? `${result.text}\nThis is stored, but the usage was not counted: ${problem.usage_problem}`
    : result.text,
});

/** The callers that may create tasks: people and leads. */
const userOrLead: Role<User | Lead> = {
  ...userOrAgent,
  narrow: (actor, settings) => (actor.type === "agent" ? lead.narrow(actor, settings) : user.narrow(actor, settings)),
};

/** Agents other than leads. A lead has a lease only if a person assigns it a task, which it returns with update_task. */
const agentButLead: Role<Agent> = {
  ...agent,
  narrow(actor, settings) {
    const narrowed = agent.narrow(actor, settings);
    if (narrowed.is_board_lead) throw new DomainError("forbidden", "Only workers can perform this action");
    return narrowed;
  },
};

const toTaskResult = (task: Task, caller: Caller) => ({
  data: { task: toTaskView(task) },
  text: taskText(task, caller).join("\n"),
});

export const getTaskTool = tool({
  title: "Read a task",
  name: "get_task",
  description: "One task with comments, dependencies, approvals and files. Read it before you work on or review it.",
  as: userOrAgent,
  for_runs: true,
  read_only: true,
  input: z.object({ task_id, board_id, offset: Integer(0, MAX_TEXT).optional() }),
  about: { offset: "Where a long description begins" },
  output: z.object({
    task: TaskView,
    comments: z.array(CommentView),
    dependencies: TaskDetail.shape.dependencies,
    approvals: z.array(ApprovalRow),
    artifacts: z.array(ArtifactRow),
  }),
  async run(ctx, { task_id, offset, ...call }) {
    const found = await getTaskDetail(ctx, boardIdOf(ctx, call), task_id, COMMENTS + 1);
    const task = toTaskView(found, offset);
    const latest = found.comments.slice(-COMMENTS);
    const comments = latest.map(toCommentView);
    const dependencies = firstRows(found.dependencies);
    const approvals = firstRows(found.approvals).map(toApprovalRow);
    const files = await readFinished(ctx, found.board_id, found.id);
    const artifacts = firstRows(files).map(toArtifactRow);
    const board = `GET /api/v1/boards/${found.board_id}`;
    const path = `${board}/tasks/${found.id}`;
    const lists = moreOf({
      dependencies: [found.dependencies.length, path],
      "tasks that it waits for": [found.blocked_by_task_ids.length, path],
      tags: [found.tags.length, path],
      approvals: [found.approvals.length, `${board}/approvals?task_id=${found.id}`],
      files: [files.length, `${path}/artifacts`],
    });
    const more = [...lists, ...moreComments(found.comments, COMMENTS)];
    const text = [
      ...taskText(found, ctx.actor, offset),
      ...fencedRows(
        "It depends on",
        dependencies.map(({ id, title, status }) => ({ fact: `${id} [${status}]`, name: title })),
      ),
      ...firstRows(found.approvals).flatMap(approvalText),
      ...artifactsText(artifacts),
      ...commentsText(latest),
      ...more,
    ];
    const data = { task, comments, dependencies, approvals, artifacts, ...(more.length > 0 && { more }) };
    return { data, text: text.join("\n") };
  },
});

export const listTasksTool = tool({
  title: "List tasks",
  name: "list_tasks",
  description: "Tasks of a board, newest first, without descriptions. Claims none.",
  as: userOrAgent,
  read_only: true,
  input: z.object({
    board_id,
    status: TaskQuery.shape.status,
    assigned_agent_id: Id.optional(),
    unassigned: z.boolean().optional(),
    q: z.string().max(MAX_NAME).optional(),
    limit: z.int().optional(),
    offset: z.int().optional(),
  }),
  about: { status: "One or several, with commas", q: "Words of title or description" },
  output: z.object({ tasks: z.array(TaskRow), total: z.int() }),
  async run(ctx, { board_id, q, ...query }) {
    const filter = toQuery(TaskQuery, { limit: MAX_ROWS, ...query, q: q || undefined });
    const { items, total } = await listTasks(ctx, boardIdOf(ctx, { board_id }), filter);
    const tasks = items.map(toTaskRow);
    return { data: { tasks, total }, text: [`${total} tasks.`, ...taskRowsText(`${items.length} shown`, tasks)].join("\n") };
  },
});

const TASK_FIELDS = {
  title: true,
  description: true,
  status: true,
  priority: true,
  due_at: true,
  assigned_agent_id: true,
  depends_on_task_ids: true,
  tag_ids: true,
  custom_field_values: true,
} as const;

export const createTaskTool = tool({
  title: "Create a task",
  name: "create_task",
  description: "Creates a task with one outcome, for an agent or any worker. First look for duplicates.",
  as: userOrLead,
  input: CreateTask.pick(TASK_FIELDS).extend({ board_id }),
  output: z.object({ task: TaskView }),
  async run(ctx, { board_id, ...input }) {
    return toTaskResult(await createTask(ctx, boardIdOf(ctx, { board_id }), input), ctx.actor);
  },
});

export const updateTaskTool = tool({
  title: "Change a task",
  name: "update_task",
  description: "Moves or changes a task, with a comment. Submit work with status review and a comment.",
  as: userOrAgent,
  for_runs: true,
  input: UpdateTask.pick({ ...TASK_FIELDS, comment: true }).extend({
    task_id,
    board_id,
    fence,
    usage,
    artifact: ArtifactNote.optional(),
  }),
  about: { fence: "Of your lease", usage: USAGE, artifact: "name, text" },
  output: z.object({ task: TaskView }),
  async run(ctx, { task_id, board_id, fence = null, usage, artifact, ...input }) {
    const on_board = boardIdOf(ctx, { board_id });
    // The file and the change are in one transaction: the run token ends when the task is submitted, and a refused change must
    // leave no file.
    const change = () =>
      artifact
        ? transaction(ctx, async (ctx) => {
            await createNoteArtifact(ctx, on_board, task_id, artifact);
            return updateTask(ctx, on_board, task_id, input, fence);
          })
        : updateTask(ctx, on_board, task_id, input, fence);
    const { changed, ...problem } = await withUsage(ctx, task_id, usage, change);
    return withUsageProblem(toTaskResult(changed, ctx.actor), problem);
  },
});

export const commentOnTask = tool({
  title: "Comment on a task",
  name: "comment_on_task",
  description: "Reports progress, a blocker or a question. Renews your lease. @name wakes an agent: name who must act.",
  as: userOrAgent,
  for_runs: true,
  input: z.object({ task_id, board_id, fence, content: NonEmpty(MAX_TEXT), usage }),
  output: z.object({ comment: CommentView }),
  async run(ctx, { task_id, fence = null, content, usage, ...call }) {
    const write = async () => createComment(ctx, boardIdOf(ctx, call), task_id, { content, tags: null, anchor: null }, fence);
    const { changed, ...problem } = await withUsage(ctx, task_id, usage, write);
    const comment = toCommentView(changed);
    return withUsageProblem({ data: { comment }, text: `Comment ${comment.id} is on the task.` }, problem);
  },
});

export const releaseTaskTool = tool({
  title: "Give a task back",
  name: "release_task",
  description: "Gives your task back to the inbox when others should do it. If it waits for an answer, set status blocked.",
  as: agentButLead,
  for_runs: true,
  input: z.object({ task_id, board_id, fence, reason: NonEmpty(MAX_TEXT) }),
  output: z.object({ task: TaskView }),
  async run(ctx, { task_id, fence = null, reason, ...call }) {
    return toTaskResult(await releaseTask(ctx, boardIdOf(ctx, call), task_id, { reason, fence }), ctx.actor);
  },
});
