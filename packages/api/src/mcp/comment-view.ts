import { authorText } from "@board/core/context/author";
import { TaskComment } from "@board/core/task/comment/comment";
import * as z from "zod";
import { fenced } from "./fenced.ts";
import { type Beginning, beginningOf, inline } from "./limits.ts";

const { id, agent_id, user_id, created_at } = TaskComment.shape;

export const CommentView = z.object({ id, agent_id, user_id, created_at, content: z.string() });

export const toCommentView = (comment: TaskComment): z.infer<typeof CommentView> => {
  const { id, agent_id, user_id, created_at } = comment;
  return { id, agent_id, user_id, created_at, content: inline(contentOf(comment)) };
};

const contentOf = ({ task_id, board_id, content }: TaskComment): Beginning =>
  beginningOf(content, `GET /api/v1/boards/${board_id}/tasks/${task_id}/comments`);

export const commentsText = (comments: readonly TaskComment[]): string[] =>
  comments.flatMap((comment) =>
    fenced(`Comment ${comment.id} by ${commenterText(comment)}, ${comment.created_at}`, contentOf(comment)),
  );

/** Only people and agents comment. A comment has no id of its author once the author was removed. */
function commenterText({ agent_id, user_id }: TaskComment): string {
  if (agent_id !== null) return authorText({ type: "agent", id: agent_id });
  return user_id === null ? "a removed author" : authorText({ type: "user", id: user_id });
}
