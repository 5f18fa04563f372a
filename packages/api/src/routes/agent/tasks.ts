import { boardFor } from "@board/core/organization/access";
import { agent, lead } from "@board/core/context/actor";
import { createTask } from "@board/core/task/create";
import { CreateTask, UpdateTask } from "@board/core/task/input";
import { getTask, listTasks, TaskPage, TaskQuery } from "@board/core/task/list";
import { removeTask } from "@board/core/task/remove";
import { Task } from "@board/core/task/task";
import { getTaskDetail, TaskDetail } from "@board/core/task/task-detail";
import { updateTask } from "@board/core/task/update";
import { Ok, ok } from "@board/core/values/wire";
import { agentTaskResource } from "../conditional-resources.ts";
import { fenceOf } from "../../edge/fence.ts";
import { endpoint } from "../../endpoint.ts";

const collectionPath = "/api/v1/agent/boards/{board_id}/tasks";
const itemPath = "/api/v1/agent/boards/{board_id}/tasks/{task_id}";

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
      returns: TaskPage,
      agent: "agent_board_task_discovery",
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
      agent: "delegate_work",
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
      agent: "agent_task_read",
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
      agent: "agent_task_update",
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
      agent: "agent_task_delete",
    },
    async (ctx, { params, http }) => {
      await removeTask(ctx, params.board_id, params.task_id, fenceOf(http.headers));
      return ok;
    },
  ),
];
