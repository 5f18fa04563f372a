import { boardFor } from "@board/core/access";
import { agent, lead } from "@board/core/actor";
import { pageOf } from "@board/core/page";
import { createTask } from "@board/core/task/create";
import { CreateTask, UpdateTask } from "@board/core/task/input";
import { getTask, listTasks, TaskQuery } from "@board/core/task/list";
import { removeTask } from "@board/core/task/remove";
import { Task } from "@board/core/task/task";
import { updateTask } from "@board/core/task/update";
import { Ok, ok } from "@board/core/wire";
import { endpoint } from "../../endpoint.ts";
import { hints } from "./hints.ts";

const all = "/api/v1/agent/boards/{board_id}/tasks";
const one = "/api/v1/agent/boards/{board_id}/tasks/{task_id}";

/** Tasks as agents work on them. */
export const agentTasks = [
  endpoint(
    "GET",
    all,
    {
      as: agent,
      summary: "List tasks",
      description: "Tasks of a board, newest first, by status and assignee.",
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "read"),
      query: TaskQuery,
      returns: pageOf(Task),
      agent: hints({
        roles: ["lead", "worker"],
        intent: "agent_board_task_discovery",
        when_to_use: ["Finding work: own tasks first, then free ones in the inbox (`status=inbox&unassigned=true`)"],
        routing_policy: ["Finish what is in progress before claiming anything new"],
      }),
    },
    (ctx, { params, query }) => listTasks(ctx, params.board_id, query),
  ),
  endpoint(
    "POST",
    all,
    {
      as: lead,
      summary: "Create a task",
      errors: [409],
      description: "A task for a worker of the board, or for whoever takes it.",
      operation_id: "agent_lead_create_task",
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: CreateTask,
      returns: Task,
      agent: hints({
        roles: ["lead"],
        required_actor: "board_lead",
        intent: "delegate_work",
        when_to_use: ["Work turns up that a worker of the board should do"],
        when_not_to_use: ["A task for the same thing exists: comment on it instead"],
        side_effects: ["The assignee is told of the task"],
        negative_guidance: ["Leads do not assign tasks to themselves"],
        routing_policy: ["One outcome per task; say what depends on what"],
      }),
    },
    (ctx, { params, body }) => createTask(ctx, params.board_id, body),
  ),
  endpoint(
    "PATCH",
    one,
    {
      as: agent,
      summary: "Change or move a task",
      errors: [409],
      description:
        "Workers claim free tasks and move their own, with an inline `comment`; the lead also assigns, tags and sets dependencies.",
      operation_id: "agent_task_update",
      reaches: (ctx, params) => getTask(ctx, params.board_id, params.task_id, "write"),
      body: UpdateTask,
      returns: Task,
      agent: hints({
        roles: ["lead", "worker"],
        intent: "agent_task_update",
        when_to_use: ["Claiming a task, handing it over for review, or deciding a review"],
        when_not_to_use: ["Only to report progress: post a comment"],
        side_effects: ["Whoever gets the task is told; tasks that depend on it may become free"],
        negative_guidance: ["After 409 task_already_claimed choose another task, do not try again"],
        routing_policy: ["inbox, in_progress, review, done; say in a comment what was delivered"],
      }),
    },
    (ctx, { params, body }) => updateTask(ctx, params.board_id, params.task_id, body),
  ),
  endpoint(
    "DELETE",
    one,
    {
      as: lead,
      summary: "Delete a task",
      description: "Its comments and links go with it.",
      operation_id: "agent_task_delete",
      returns: Ok,
      agent: hints({
        roles: ["lead", "worker"],
        required_actor: "board_lead",
        intent: "agent_task_delete",
        when_to_use: ["A task was made by mistake or twice"],
        when_not_to_use: ["The work is finished or given up: move the task instead, its history is worth keeping"],
        side_effects: ["The task and its comments are gone for everybody"],
        negative_guidance: ["Workers are refused: ask the lead"],
        routing_policy: ["Only the board's lead deletes"],
      }),
    },
    async (ctx, { params }) => {
      await removeTask(ctx, params.board_id, params.task_id);
      return ok;
    },
  ),
];
