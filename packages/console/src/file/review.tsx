import { useMemo, useRef, useState } from "preact/hooks";
import { api } from "../api.ts";
import type { Change } from "../live.ts";
import { useResource } from "../resource.ts";
import type { Artifact, Comment, Task } from "../types.ts";
import { Problem } from "../ui/parts.tsx";
import { PlainFile } from "../ui/text-file.tsx";
import { attempt } from "../ui/toast.tsx";
import { Decide } from "../task/decide.tsx";
import { parsePatch } from "./diff.ts";
import { LineComment } from "./line-comment.tsx";
import { PatchFileView } from "./patch-file.tsx";

const COMMENTS = "/api/v1/boards/{board_id}/tasks/{task_id}/comments";
const REVIEWED = "/api/v1/boards/{board_id}/artifacts/{artifact_id}/reviewed-files";
const LIMIT = 200;
/** Besides the first page of comments, only this many of the newest pages are read. */
const MAX_PAGES = 5;

interface Props {
  file: Artifact;
  text: string;
  task: Task | undefined;
  mayWrite: boolean;
}

/** Shows a diff with the comments on its lines, and which of its files the person has reviewed. */
export function Review({ file, text, task, mayWrite }: Props) {
  const files = useMemo(() => parsePatch(text), [text]);
  const { board_id, task_id, id: artifact_id } = file;
  const isOwn = ({ type, task_id: of }: Change) => type === "comment" && of === task_id;
  const comments = useResource((signal) => readAnchored(file, signal), [artifact_id], isOwn, true);
  const reviewed = useReviewed(board_id, artifact_id);
  if (files.length === 0) return <PlainFile label="Content" text={text} />;
  const [added, removed] = [files.reduce((sum, one) => sum + one.added, 0), files.reduce((sum, one) => sum + one.removed, 0)];
  const done = files.filter(({ path }) => reviewed.paths.includes(path)).length;
  const paths = new Set(files.map(({ path }) => path));
  const general = comments.data?.filter(({ anchor }) => !paths.has(anchor?.path ?? "")) ?? [];
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
      <Problem error={comments.error} retry={comments.reload} />
      <Problem error={reviewed.error} retry={reviewed.reload} />
      {general.map((comment) => (
        <LineComment key={comment.id} comment={comment} about={comment.anchor?.path ?? "the whole diff"} />
      ))}
      {files.map((patch, index) => (
        <PatchFileView
          key={index}
          patch={patch}
          isReviewed={reviewed.paths.includes(patch.path)}
          onReviewed={reviewed.isKnown ? (isReviewed) => reviewed.set(patch.path, isReviewed) : null}
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

/** Reads the comments about this artifact, oldest first, from the newest pages of the task's comments. */
async function readAnchored({ board_id, task_id, id }: Artifact, signal: AbortSignal): Promise<Comment[]> {
  const path = { board_id, task_id };
  const read = (offset: number) => api.get(COMMENTS, { params: { path, query: { limit: LIMIT, offset } }, signal });
  const first = await read(0);
  const pages = Math.ceil(first.total / LIMIT);
  const offsets = Array.from({ length: pages }, (_, page) => page * LIMIT)
    .slice(1)
    .slice(-MAX_PAGES);
  const others = await Promise.all(offsets.map(read));
  return [first, ...others].flatMap(({ items }) => items).filter(({ anchor }) => anchor?.artifact_id === id);
}

/**
 * Reads and changes which files of a diff this person has reviewed. Each change replaces the whole list at the service, so
 * nothing is changed before the list is known, and changes are sent one after the other.
 */
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
  const sending = useRef<Promise<unknown>>(Promise.resolve());
  const set = async (path: string, isReviewed: boolean) => {
    const next = [...paths.filter((other) => other !== path), ...(isReviewed ? [path] : [])];
    setChanged(next);
    const store = () => attempt("The mark was not stored", () => api.put(REVIEWED, { params, body: { paths: next } }));
    const stored = sending.current.then(store);
    sending.current = stored;
    if (await stored) return;
    setChanged(null);
    await reload();
  };
  return { paths, isKnown: data !== null, error, reload, set };
}
