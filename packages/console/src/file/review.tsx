import { useMemo, useState } from "preact/hooks";
import { api } from "../api.ts";
import { complete, moveTask, putTask } from "../board/store.ts";
import type { Change } from "../live.ts";
import { useResource } from "../resource.ts";
import type { Artifact, Comment, Task } from "../types.ts";
import { FormButton } from "../ui/form-dialog.tsx";
import { Problem } from "../ui/parts.tsx";
import { attempt, showInfo } from "../ui/toast.tsx";
import { textOrNull } from "../ui/values.ts";
import { parsePatch } from "./diff.ts";
import { PatchFileView } from "./patch-file.tsx";

const COMMENTS = "/api/v1/boards/{board_id}/tasks/{task_id}/comments";
const REVIEWED = "/api/v1/boards/{board_id}/artifacts/{artifact_id}/reviewed-files";
const LIMIT = 200;

interface Props {
  file: Artifact;
  text: string;
  task: Task | undefined;
  mayWrite: boolean;
}

/** A diff with the comments on its lines, and which of its files the person has reviewed. */
export function Review({ file, text, task, mayWrite }: Props) {
  const files = useMemo(() => parsePatch(text), [text]);
  const { board_id, task_id, id: artifact_id } = file;
  const isOwn = ({ type, task_id: of }: Change) => type === "comment" && of === task_id;
  const comments = useResource((signal) => readAnchored(file, signal), [artifact_id], isOwn, true);
  const reviewed = useReviewed(board_id, artifact_id);
  if (files.length === 0)
    return (
      <pre class="file-text" tabIndex={0} aria-label="Content">
        {text}
      </pre>
    );
  const [added, removed] = [files.reduce((sum, one) => sum + one.added, 0), files.reduce((sum, one) => sum + one.removed, 0)];
  const done = files.filter(({ path }) => reviewed.paths.includes(path)).length;
  const send = (path: string, side: "old" | "new", line: number, content: string) =>
    api.post(COMMENTS, {
      params: { path: { board_id, task_id } },
      body: { content, anchor: { artifact_id, path, line, side } },
    });
  return (
    <>
      <div class="view-intro">
        <span class="muted">
          {files.length === 1 ? "1 file" : `${files.length} files`}, +{added} −{removed}; {done} reviewed
        </span>
        {mayWrite && task?.status === "review" && <Decide task={task} />}
      </div>
      <Problem error={comments.error ?? reviewed.error} retry={comments.reload} />
      {files.map((patch) => (
        <PatchFileView
          key={patch.path}
          patch={patch}
          isReviewed={reviewed.paths.includes(patch.path)}
          onReviewed={(isReviewed) => reviewed.set(patch.path, isReviewed)}
          comments={comments.data?.filter(({ anchor }) => anchor?.path === patch.path) ?? []}
          draft={`review.${artifact_id}.${patch.path}`}
          onComment={
            mayWrite
              ? async (side, line, content) => {
                  await send(patch.path, side, line, content);
                  await comments.reload();
                }
              : null
          }
        />
      ))}
    </>
  );
}

async function readAnchored({ board_id, task_id, id }: Artifact, signal: AbortSignal): Promise<Comment[]> {
  const page = await api.get(COMMENTS, { params: { path: { board_id, task_id }, query: { limit: LIMIT } }, signal });
  return page.items.filter(({ anchor }) => anchor?.artifact_id === id);
}

/** The files that this person has reviewed, which the service remembers. */
function useReviewed(board_id: string, artifact_id: string) {
  const params = { path: { board_id, artifact_id } };
  const { data, error, reload } = useResource(
    (signal) => api.get(REVIEWED, { params, signal }),
    [artifact_id],
    () => false,
    true,
  );
  const [changed, setChanged] = useState<readonly string[] | null>(null);
  const paths = changed ?? data?.paths ?? [];
  const set = async (path: string, isReviewed: boolean) => {
    const next = [...paths.filter((other) => other !== path), ...(isReviewed ? [path] : [])];
    setChanged(next);
    const isStored = await attempt("The mark was not stored", () => api.put(REVIEWED, { params, body: { paths: next } }));
    if (isStored) return;
    setChanged(null);
    await reload();
  };
  return { paths, error, set };
}

/** Moves the task to done if the board's rules allow it, or sends it back to its agent with all open comments in one message. */
function Decide({ task }: { task: Task }) {
  const sendBack = async (comment: string | null) => {
    const params = { path: { board_id: task.board_id, task_id: task.id } };
    putTask(complete(await api.post("/api/v1/boards/{board_id}/tasks/{task_id}/send-back", { params, body: { comment } })));
    showInfo("The agent was told, with the comments of this review.");
  };
  return (
    <div class="actions wrap">
      <FormButton
        title="Send back"
        name={`send-back.${task.id}`}
        fields={[
          {
            name: "comment",
            label: "What is missing",
            kind: "long",
            hint: "The agent gets it with your comments on lines, in one message.",
          },
        ]}
        start={{ comment: "" }}
        label="Send the task back"
        submit={(typed) => sendBack(textOrNull(typed, "comment"))}
      />
      <button type="button" class="primary" onClick={() => moveTask(task, "done")}>
        Approve
      </button>
    </div>
  );
}
