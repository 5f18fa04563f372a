import { useState } from "preact/hooks";
import { api } from "../api.ts";
import { agents } from "../board/store.ts";
import { readDraft, useDraft } from "../draft.ts";
import { useResource } from "../resource.ts";
import { toFile } from "../route.ts";
import { member } from "../session.ts";
import type { Comment } from "../types.ts";
import { Avatar, Loading, Problem } from "../ui/parts.tsx";
import { toPlain } from "../ui/plain.ts";
import { Time } from "../ui/time.tsx";
import { attempt } from "../ui/toast.tsx";

const PAGE = 100;
const PATH = "/api/v1/boards/{board_id}/tasks/{task_id}/comments";

interface Props {
  board_id: string;
  task_id: string;
  mayWrite: boolean;
}

/** Reads the newest comments, which are at the end of the list. */
async function readComments({ board_id, task_id }: Props, signal: AbortSignal): Promise<{ items: Comment[]; earlier: number }> {
  const path = { board_id, task_id };
  const page = await api.get(PATH, { params: { path, query: { limit: PAGE } }, signal });
  if (page.total <= PAGE) return { items: page.items, earlier: 0 };
  const offset = page.total - PAGE;
  const last = await api.get(PATH, { params: { path, query: { limit: PAGE, offset } }, signal });
  return { items: last.items, earlier: offset };
}

function authorOf({ agent_id, user_id }: Comment): string {
  if (agent_id) return agents.value.get(agent_id)?.name ?? "An agent";
  const who = member.value;
  if (user_id && user_id === who?.user_id) return who.user?.preferred_name ?? who.user?.name ?? "You";
  return user_id ? "A person" : "The service";
}

/** Shows which lines of which file a comment is about. */
function Anchor({ comment: { board_id, task_id, anchor } }: { comment: Comment }) {
  if (!anchor) return null;
  return (
    <a class="hint" href={toFile(board_id, task_id, anchor.artifact_id)} dir="auto">
      {toPlain(anchor.path ?? "a file")}
      {anchor.line === null ? "" : `, line ${anchor.line}`}
    </a>
  );
}

export function Comments(props: Props) {
  const { board_id, task_id, mayWrite } = props;
  const concerns = (change: { type: string; task_id: string | null }) => change.type === "comment" && change.task_id === task_id;
  const { data, error, reload } = useResource((signal) => readComments(props, signal), [task_id], concerns, true);
  const draft = `comment.${task_id}`;
  const [text, setText] = useDraft(draft);
  const [isSending, setSending] = useState(false);

  const send = async (event: Event) => {
    event.preventDefault();
    if (!text.trim() || isSending) return;
    setSending(true);
    const isSent = await attempt("The comment was not sent", () =>
      api.post(PATH, { params: { path: { board_id, task_id } }, body: { content: text } }),
    );
    setSending(false);
    if (!isSent) return;
    // What was typed while the comment was on its way is not part of it.
    const now = readDraft(draft);
    setText(now.startsWith(text) ? now.slice(text.length).trimStart() : now);
    await reload();
  };

  return (
    <section>
      <h3>Comments</h3>
      <Problem error={error} retry={reload} />
      {!data && !error && <Loading what="the comments" />}
      {data && data.earlier > 0 && <p class="muted">{data.earlier} earlier comments are not shown.</p>}
      {data?.items.length === 0 && <p class="muted">Nobody has commented.</p>}
      <ol class="comments" aria-live="polite">
        {data?.items.map((comment) => (
          <li key={comment.id} class="comment">
            <Avatar name={authorOf(comment)} />
            <div>
              <p class="comment-head">
                <strong dir="auto">{authorOf(comment)}</strong>{" "}
                <span class="muted">
                  <Time at={comment.created_at} />
                </span>
              </p>
              {comment.anchor && <Anchor comment={comment} />}
              <p class="text" dir="auto">
                {comment.message}
              </p>
            </div>
          </li>
        ))}
      </ol>
      {mayWrite && (
        <form class="comment-form" onSubmit={send}>
          <textarea
            rows={3}
            dir="auto"
            aria-label="Comment"
            placeholder="Comment. @name notifies an agent."
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
            onKeyDown={(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && void send(event)}
          />
          <div class="form-actions">
            <span class="muted hint">
              <kbd>Ctrl</kbd> <kbd>Enter</kbd>
            </span>
            <button type="submit" class="primary" disabled={isSending || !text.trim()}>
              Send
            </button>
          </div>
        </form>
      )}
    </section>
  );
}
