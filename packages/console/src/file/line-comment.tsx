import { memo } from "preact/compat";
import { agents } from "../board/store.ts";
import type { Comment } from "../types.ts";
import { toPlain } from "../ui/plain.ts";
import { Time } from "../ui/time.tsx";

/** A comment of a review. `about` names its place if it does not stand below its line. */
export const LineComment = memo(function LineComment({ comment, about = "" }: { comment: Comment; about?: string }) {
  const author = comment.agent_id ? (agents.value.get(comment.agent_id)?.name ?? "An agent") : "A person";
  return (
    <div class="patch-comment">
      <span class="muted">
        {author} <Time at={comment.created_at} /> <span dir="auto">{toPlain(about)}</span>
      </span>
      <p class="text" dir="auto">
        {comment.message}
      </p>
    </div>
  );
});
