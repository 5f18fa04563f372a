import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import { toFile, toTask } from "../route.ts";
import { boardName, canWrite } from "../session.ts";
import type { ArtifactUsage, StoredArtifact } from "../types.ts";
import { Confirm } from "../ui/confirm.tsx";
import { List } from "../ui/list.tsx";
import { toPlain } from "../ui/plain.ts";
import { Time } from "../ui/time.tsx";
import { removeFile, toSize } from "./read.ts";

const LIMIT = 100;

async function readStored(signal: AbortSignal) {
  const [usage, page] = await Promise.all([
    api.get("/api/v1/artifacts/usage", { signal }),
    api.get("/api/v1/artifacts", { params: { query: { limit: LIMIT } }, signal }),
  ]);
  return { ...page, usage };
}

/** Shows the files of all tasks, largest first, for people who must free storage. */
export function StoredFiles() {
  const from = useResource(readStored, [], ({ type }) => type === "artifact", true);
  return (
    <section>
      <h2>Files</h2>
      {from.data && <Room usage={from.data.usage} />}
      <List what="the files" from={from} empty={["There are no files.", "Files are added to tasks, by people and agents."]}>
        {(file) => <Row key={file.id} file={file} onChanged={from.reload} />}
      </List>
    </section>
  );
}

function Room({ usage: { used, limit } }: { usage: ArtifactUsage }) {
  if (limit === null) return <p class="muted">All files together use {toSize(used)}. There is no limit.</p>;
  return (
    <p class="muted">
      All files together use {toSize(used)} of {toSize(limit)}. When the limit is reached, remove files here; the largest come
      first.
    </p>
  );
}

function Row({ file, onChanged }: { file: StoredArtifact; onChanged: () => void }) {
  const { board_id, task_id, id, status, size } = file;
  const name = toPlain(file.name);
  return (
    <div class="row">
      <div class="grow">
        <span class="row-head">
          <strong>{toSize(size)}</strong>
          {status === "ready" ? (
            <a href={toFile(board_id, task_id, id)} dir="auto">
              {name}
            </a>
          ) : (
            <span dir="auto">{name}</span>
          )}
          {status === "uploading" && <span class="badge">is being sent</span>}
        </span>
        <span class="muted">
          <a href={toTask(board_id, task_id)} dir="auto">
            {toPlain(file.task_title)}
          </a>{" "}
          · {boardName(board_id)} · <Time at={file.created_at} />
        </span>
      </div>
      {canWrite(board_id) && (
        <div class="actions wrap">
          <Confirm
            label="Remove"
            question="It cannot be restored."
            confirm="Remove the file"
            failure="The file was not removed"
            act={() => removeFile(file)}
            onDone={onChanged}
          />
        </div>
      )}
    </div>
  );
}
