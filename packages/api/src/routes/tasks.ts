import { boardFor } from "@board/core/access";
import { user, userOrAgent } from "@board/core/actor";
import { pageOf } from "@board/core/page";
import { createTask } from "@board/core/task/create";
import { CreateTask, CreateTaskOnBoard, UpdateTask } from "@board/core/task/input";
import { getTask, listTasks, TaskQuery } from "@board/core/task/list";
import { removeTask } from "@board/core/task/remove";
import { Task } from "@board/core/task/task";
import { updateTask } from "@board/core/task/update";
import { Ok, ok } from "@board/core/wire";
import { endpoint } from "../endpoint.ts";

const all = "/api/v1/boards/{board_id}/tasks";
const one = "/api/v1/boards/{board_id}/tasks/{task_id}";

/** The work of a board. */
export const tasks = [
  endpoint(
    "POST",
    "/api/v1/tasks",
    {
      as: user,
      summary: "Create a task on a board named in the body",
      errors: [403, 409],
      description: "The board's lead is told of it, and the assignee of its work.",
      body: CreateTaskOnBoard,
      returns: Task,
    },
    (ctx, { body: { board_id, ...body } }) => createTask(ctx, board_id, body),
  ),
  endpoint(
    "POST",
    all,
    {
      as: user,
      summary: "Create a task",
      errors: [409],
      description: "The board's lead is told of it, and the assignee of its work.",
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: CreateTask,
      returns: Task,
    },
    (ctx, { params, body }) => createTask(ctx, params.board_id, body),
  ),
  endpoint(
    "GET",
    all,
    {
      as: userOrAgent,
      summary: "List tasks",
      description: "Newest first. `blocked` also finds tasks that wait for an unfinished dependency.",
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "read"),
      query: TaskQuery,
      returns: pageOf(Task),
    },
    (ctx, { params, query }) => listTasks(ctx, params.board_id, query),
  ),
  endpoint("GET", one, { as: userOrAgent, summary: "Get a task", returns: Task }, (ctx, { params }) =>
    getTask(ctx, params.board_id, params.task_id),
  ),
  endpoint(
    "PATCH",
    one,
    {
      as: userOrAgent,
      summary: "Change or move a task",
      errors: [409],
      description:
        "People may change everything, the board's lead status, assignee, dependencies and tags, other agents the status of their own or of free tasks. The board's rules decide which moves are open.",
      reaches: (ctx, params) => getTask(ctx, params.board_id, params.task_id, "write"),
      body: UpdateTask,
      returns: Task,
    },
    (ctx, { params, body }) => updateTask(ctx, params.board_id, params.task_id, body),
  ),
  endpoint(
    "DELETE",
    one,
    {
      as: user,
      summary: "Delete a task",
      description: "Its comments and links go with it; approvals of other tasks stay.",
      returns: Ok,
    },
    async (ctx, { params }) => {
      await removeTask(ctx, params.board_id, params.task_id);
      return ok;
    },
  ),
];
