import { authorText } from "@board/core/context/author";
import { anchorText } from "@board/core/task/comment/anchor";
import { TaskComment } from "@board/core/task/comment/comment";
import * as z from "zod";
import { fenced } from "./fenced.ts";
import { type Beginning, beginningOf, inline, moreOf } from "./limits.ts";

const { id, agent_id, user_id, anchor, created_at } = TaskComment.shape;

export const CommentView = z.object({ id, agent_id, user_id, created_at, content: z.string(), anchor });

export const toCommentView = (comment: TaskComment): z.infer<typeof CommentView> => {
  const { id, agent_id, user_id, anchor, created_at } = comment;
  return { id, agent_id, user_id, created_at, content: inline(contentOf(comment)), anchor };
};

/** Returns the line that says where the earlier comments are, if there are more than `max`. */
export const moreComments = (comments: readonly TaskComment[], max: number): string[] =>
  moreOf({ "earlier comments": [comments.length, comments[0] ? placeOf(comments[0]) : "", max] });

const placeOf = ({ task_id, board_id }: TaskComment): string => `GET /api/v1/boards/${board_id}/tasks/${task_id}/comments`;

const contentOf = (comment: TaskComment): Beginning => beginningOf(comment.content, placeOf(comment));

export const commentsText = (comments: readonly TaskComment[]): string[] =>
  comments.flatMap((comment) =>
    fenced(`Comment ${comment.id} by ${commenterText(comment)}, ${comment.created_at}`, withPlace(comment, contentOf(comment))),
  );

/** Puts the path of the anchor inside the fence, because the author of the comment wrote the path. */
const withPlace = ({ anchor }: TaskComment, text: Beginning): Beginning =>
  anchor ? { ...text, shown: `[${anchorText(anchor)}]\n${text.shown}` } : text;

/** Names the author of a comment. Only people and agents write comments. The comment of a removed author has no author id. */
function commenterText({ agent_id, user_id }: TaskComment): string {
  if (agent_id !== null) return authorText({ type: "agent", id: agent_id });
  return user_id === null ? "a removed author" : authorText({ type: "user", id: user_id });
}
