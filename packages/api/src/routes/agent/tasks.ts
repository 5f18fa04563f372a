import { boardFor } from "@board/core/organization/access";
import { agent, lead } from "@board/core/context/actor";
import { pageOf } from "@board/core/lists/page";
import { createTask } from "@board/core/task/create";
import { CreateTask, UpdateTask } from "@board/core/task/input";
import { getTask, listTasks, TaskQuery } from "@board/core/task/list";
import { removeTask } from "@board/core/task/remove";
import { Task } from "@board/core/task/task";
import { getTaskDetail, TaskDetail } from "@board/core/task/task-detail";
import { updateTask } from "@board/core/task/update";
import { Ok, ok } from "@board/core/values/wire";
import { agentTaskResource } from "../conditional-resources.ts";
import { fenceOf } from "../../edge/fence.ts";
import { endpoint } from "../../endpoint.ts";
import { agentHints } from "./hints.ts";

const collectionPath = "/api/v1/agent/boards/{board_id}/tasks";
const itemPath = "/api/v1/agent/boards/{board_id}/tasks/{task_id}";

/** Tasks for agents. */
export const agentTasks = [
  endpoint(
    "GET",
    collectionPath,
    {
      as: agent,
      summary: "List tasks",
      description: "Returns the tasks of a board, newest first, filtered by status and assignee.",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "read"),
      query: TaskQuery,
      returns: pageOf(Task),
      agent: agentHints({
        roles: ["lead", "worker"],
        intent: "agent_board_task_discovery",
        when_to_use: ["Finding work: your own tasks first, then unassigned ones in the inbox (`status=inbox&unassigned=true`)"],
        routing_policy: ["Finish tasks in progress before claiming new ones"],
      }),
    },
    (ctx, { params, query }) => listTasks(ctx, params.board_id, query),
  ),
  endpoint(
    "POST",
    collectionPath,
    {
      as: lead,
      summary: "Create a task",
      errors: [409],
      description: "Creates a task for a worker of the board, or an unassigned task that any worker may claim.",
      operation_id: "agent_lead_create_task",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: CreateTask,
      returns: Task,
      agent: agentHints({
        roles: ["lead"],
        required_actor: "board_lead",
        intent: "delegate_work",
        when_to_use: ["A worker of the board should do a piece of work"],
        when_not_to_use: ["A task for the same work exists: comment on it instead"],
        side_effects: ["The assignee is notified"],
        negative_guidance: ["Leads do not assign tasks to themselves"],
        routing_policy: ["Plan one outcome per task; set the dependencies between tasks"],
      }),
    },
    (ctx, { params, body }) => createTask(ctx, params.board_id, body),
  ),
  endpoint(
    "GET",
    itemPath,
    {
      as: agent,
      summary: "Get a task",
      description: "Returns a task with its latest comments, its dependencies and its approvals.",
      operation_id: "agent_task_get",
      returns: TaskDetail,
      agent: agentHints({
        roles: ["lead", "worker"],
        intent: "agent_task_read",
        when_to_use: ["Before you work on a task, review it or answer a comment on it"],
        routing_policy: ["One request replaces the lists of comments, tasks and approvals"],
      }),
    },
    (ctx, { params }) => getTaskDetail(ctx, params.board_id, params.task_id),
  ),
  endpoint(
    "PATCH",
    itemPath,
    {
      as: agent,
      summary: "Update or move a task",
      conditional: agentTaskResource,
      description:
        "Workers claim unassigned tasks and move their own, optionally with a `comment`. The lead also assigns tasks and sets tags and dependencies.",
      operation_id: "agent_task_update",
      authorize: (ctx, params) => getTask(ctx, params.board_id, params.task_id, "write"),
      body: UpdateTask,
      fenced: true,
      returns: Task,
      agent: agentHints({
        roles: ["lead", "worker"],
        intent: "agent_task_update",
        when_to_use: ["Claiming a task, submitting it for review, or deciding a review"],
        when_not_to_use: ["You only want to report progress: post a comment"],
        side_effects: ["The new assignee is notified; dependent tasks may become unblocked"],
        negative_guidance: ["After 409 task_already_claimed, choose another task and do not retry"],
        routing_policy: ["Move tasks through inbox, in_progress, review, done; state in a comment what was delivered"],
      }),
    },
    (ctx, { params, body, http }) => updateTask(ctx, params.board_id, params.task_id, body, fenceOf(http.headers)),
  ),
  endpoint(
    "DELETE",
    itemPath,
    {
      as: lead,
      summary: "Delete a task",
      conditional: agentTaskResource,
      description: "Also deletes its comments and links.",
      operation_id: "agent_task_delete",
      fenced: true,
      returns: Ok,
      agent: agentHints({
        roles: ["lead"],
        required_actor: "board_lead",
        intent: "agent_task_delete",
        when_to_use: ["A task was created by mistake or is a duplicate"],
        when_not_to_use: ["The work is finished or abandoned: move the task instead to keep its history"],
        side_effects: ["The task and its comments are deleted for everyone"],
        negative_guidance: ["Workers may not delete tasks: ask the lead"],
        routing_policy: ["Only the lead of the board may delete tasks"],
      }),
    },
    async (ctx, { params, http }) => {
      await removeTask(ctx, params.board_id, params.task_id, fenceOf(http.headers));
      return ok;
    },
  ),
];
