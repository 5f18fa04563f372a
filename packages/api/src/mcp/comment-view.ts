import { TaskComment } from "@board/core/task/comment";
import * as z from "zod";
import { cut } from "./limits.ts";

const { id, agent_id, user_id, created_at } = TaskComment.shape;

export const CommentView = z.object({ id, agent_id, user_id, created_at, content: z.string() });
export type CommentView = z.infer<typeof CommentView>;

export const toCommentView = (comment: TaskComment): CommentView => {
  const { id, task_id, board_id, agent_id, user_id, created_at, content } = comment;
  const way = `GET /api/v1/boards/${board_id}/tasks/${task_id}/comments`;
  return { id, agent_id, user_id, created_at, content: cut(content, way) };
};

export const commentsText = (comments: readonly CommentView[]): string[] =>
  comments.map(
    ({ agent_id, user_id, content }) => `${agent_id ? `Agent ${agent_id}` : user_id ? "A person" : "Service"}: ${content}`,
  );
