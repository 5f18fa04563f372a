import { useEffect, useState } from "preact/hooks";
import { api, messageOf } from "../api.ts";
import { useResource } from "../resource.ts";
import { toTask } from "../route.ts";
import type { Artifact, Task } from "../types.ts";
import { Loading, Problem } from "../ui/parts.tsx";
import { toPlain } from "../ui/plain.ts";
import { attempt } from "../ui/toast.tsx";
import { Content } from "./content.tsx";
import { readContent, saveFile, toSize } from "./read.ts";
import { Review } from "./review.tsx";
import "../styles/file.css";

interface Props {
  board_id: string;
  task_id: string;
  artifact_id: string;
  task: Task | undefined;
  mayWrite: boolean;
}

/** Larger files can only be downloaded, because showing them would take long. */
const MAX_SHOWN_BYTES = 5_000_000;

/**
 * Shows a file next to its board. Only texts and pictures are shown, and pictures are redrawn first.
 */
export function FileView({ board_id, task_id, artifact_id, task, mayWrite }: Props) {
  const params = { path: { board_id, artifact_id } };
  const read = (signal: AbortSignal) => api.get("/api/v1/boards/{board_id}/artifacts/{artifact_id}", { params, signal });
  const { data: file, error, reload } = useResource(read, [artifact_id], () => false, true);
  return (
    <div class="file-view">
      <a href={toTask(board_id, task_id)}>Back to the task</a>
      <Problem error={error} retry={reload} />
      {!file && !error && <Loading what="the file" />}
      {file && (
        <>
          <div class="view-intro">
            <h2 dir="auto">{toPlain(file.name)}</h2>
            <span class="row-head">
              <span class="muted">
                {file.content_type}, {toSize(file.size)}
              </span>
              <button type="button" class="small" onClick={() => attempt("The file was not saved", () => saveFile(file))}>
                Save
              </button>
            </span>
          </div>
          {file.size > MAX_SHOWN_BYTES ? (
            <p class="muted">The file is too large to be shown. Save it to read it.</p>
          ) : (
            <Shown file={file} task={task} mayWrite={mayWrite} />
          )}
        </>
      )}
    </div>
  );
}

const isText = (type: string): boolean => /^text\/|^application\/json$/.test(type);
const isPicture = (type: string): boolean => /^image\/(png|jpeg|webp|gif)$/.test(type);

function Shown({ file, task, mayWrite }: { file: Artifact; task: Task | undefined; mayWrite: boolean }) {
  const type = file.content_type.split(";")[0]!.trim();
  const [text, setText] = useState<string | null>(null);
  const [blob, setBlob] = useState<Blob | null>(null);
  const [error, setError] = useState<string | null>(null);
  const isShown = isText(type) || isPicture(type);
  useEffect(() => {
    if (!isShown) return;
    const stop = new AbortController();
    readContent(file, stop.signal).then(
      async (content) => (isPicture(type) ? setBlob(content) : setText(await content.text())),
      (reason: unknown) => stop.signal.aborted || setError(messageOf(reason)),
    );
    return () => stop.abort();
  }, [file.id]);
  if (!isShown) return <p class="muted">This kind of file is not shown. Save it to open it with a program.</p>;
  if (error) return <Problem error={error} />;
  if (text === null && blob === null) return <Loading what="the content" />;
  if (type === "text/x-diff" && text !== null) return <Review file={file} text={text} task={task} mayWrite={mayWrite} />;
  return <Content type={type} text={text} blob={blob} name={file.name} />;
}
