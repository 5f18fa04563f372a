import { boardFor } from "@board/core/organization/access";
import { user, userOrAgent } from "@board/core/context/actor";
import { createTask } from "@board/core/task/create";
import { CreateTask, CreateTaskOnBoard, UpdateTask } from "@board/core/task/input";
import { getTask, listTasks, TaskPage, TaskQuery } from "@board/core/task/list";
import { removeTask } from "@board/core/task/remove";
import { SendBack, sendBack } from "@board/core/task/send-back";
import { Task } from "@board/core/task/task";
import { updateTask } from "@board/core/task/update";
import { Ok, ok } from "@board/core/values/wire";
import { taskResource } from "./conditional-resources.ts";
import { fenceOf } from "../edge/fence.ts";
import { endpoint } from "../endpoint.ts";

const collectionPath = "/api/v1/boards/{board_id}/tasks";
const itemPath = "/api/v1/boards/{board_id}/tasks/{task_id}";

export const tasks = [
  endpoint(
    "POST",
    "/api/v1/tasks",
    {
      as: user,
      summary: "Create a task on a board named in the body",
      errors: [403, 409],
      description: "Notifies the lead of the board and the assignee.",
      body: CreateTaskOnBoard,
      returns: Task,
    },
    (ctx, { body: { board_id, ...body } }) => createTask(ctx, board_id, body),
  ),
  endpoint(
    "POST",
    collectionPath,
    {
      as: user,
      summary: "Create a task",
      errors: [409],
      description: "Notifies the lead of the board and the assignee.",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: CreateTask,
      returns: Task,
    },
    (ctx, { params, body }) => createTask(ctx, params.board_id, body),
  ),
  endpoint(
    "GET",
    collectionPath,
    {
      as: userOrAgent,
      summary: "List tasks",
      description: "Newest first. The status `blocked` also matches tasks with an unfinished dependency.",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "read"),
      query: TaskQuery,
      returns: TaskPage,
    },
    (ctx, { params, query }) => listTasks(ctx, params.board_id, query),
  ),
  endpoint("GET", itemPath, { as: userOrAgent, summary: "Get a task", returns: Task }, (ctx, { params }) =>
    getTask(ctx, params.board_id, params.task_id),
  ),
  endpoint(
    "PATCH",
    itemPath,
    {
      as: userOrAgent,
      summary: "Update or move a task",
      conditional: taskResource,
      description:
        "People may change every field. The lead of the board may change status, assignee, dependencies and tags; other agents may change the status of tasks that are unassigned or assigned to them. The rules of the board restrict which moves are allowed.",
      authorize: (ctx, params) => getTask(ctx, params.board_id, params.task_id, "write"),
      body: UpdateTask,
      fenced: true,
      returns: Task,
    },
    (ctx, { params, body, http }) => updateTask(ctx, params.board_id, params.task_id, body, fenceOf(http.headers)),
  ),
  endpoint(
    "DELETE",
    itemPath,
    {
      as: user,
      summary: "Delete a task",
      conditional: taskResource,
      description: "Also deletes its comments and links. Approvals that cover other tasks as well are kept.",
      returns: Ok,
    },
    async (ctx, { params }) => {
      await removeTask(ctx, params.board_id, params.task_id);
      return ok;
    },
  ),
  endpoint(
    "POST",
    `${itemPath}/send-back`,
    {
      as: user,
      summary: "Send a task back from its review",
      description:
        "Moves a task in review to in_progress of the agent that handed it in, or of the named agent. The agent gets one message with the comments that others have made since then, each with its place in an artifact.",
      errors: [409],
      authorize: (ctx, params) => getTask(ctx, params.board_id, params.task_id, "write"),
      body: SendBack,
      fenced: true,
      returns: Task,
    },
    (ctx, { params, body, http }) => sendBack(ctx, params.board_id, params.task_id, body, fenceOf(http.headers)),
  ),
];
