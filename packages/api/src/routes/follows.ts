import { user } from "@board/core/context/actor";
import { Following, getBoardFollowing, getTaskFollowing, setBoardFollowing, setTaskFollowing } from "@board/core/follow/follow";
import { getTaskFollowers, TaskFollowers } from "@board/core/follow/followers";
import { endpoint } from "../endpoint.ts";

const BOARD = "/api/v1/boards/{board_id}/follow";
const TASK = "/api/v1/boards/{board_id}/tasks/{task_id}/follow";

/** Which boards a person follows. */
export const boardFollows = [
  endpoint("GET", BOARD, { as: user, summary: "Get whether you follow a board", returns: Following }, (ctx, { params }) =>
    getBoardFollowing(ctx, params.board_id),
  ),
  endpoint(
    "PUT",
    BOARD,
    {
      as: user,
      summary: "Follow a board",
      description: "Followers are notified of its approvals, and of tasks that are submitted, blocked or given up.",
      returns: Following,
    },
    (ctx, { params }) => setBoardFollowing(ctx, params.board_id, true),
  ),
  endpoint("DELETE", BOARD, { as: user, summary: "Stop following a board", returns: Following }, (ctx, { params }) =>
    setBoardFollowing(ctx, params.board_id, false),
  ),
];

/** Which tasks a person follows. */
export const taskFollows = [
  endpoint("GET", TASK, { as: user, summary: "Get whether you follow a task", returns: Following }, (ctx, { params }) =>
    getTaskFollowing(ctx, params.board_id, params.task_id),
  ),
  endpoint(
    "PUT",
    TASK,
    {
      as: user,
      summary: "Follow a task",
      description: "People who created the task or commented on it follow it already.",
      returns: Following,
    },
    (ctx, { params }) => setTaskFollowing(ctx, params.board_id, params.task_id, true),
  ),
  endpoint(
    "DELETE",
    TASK,
    {
      as: user,
      summary: "Stop following a task",
      description: "Also stops it for people who created the task or commented on it.",
      returns: Following,
    },
    (ctx, { params }) => setTaskFollowing(ctx, params.board_id, params.task_id, false),
  ),
  endpoint(
    "GET",
    `${TASK}ers`,
    {
      as: user,
      summary: "List who follows a task",
      description: "People who follow it, created it or commented on it. People who only follow its board are not listed.",
      returns: TaskFollowers,
    },
    (ctx, { params }) => getTaskFollowers(ctx, params.board_id, params.task_id),
  ),
];
