import { useRef, useState } from "preact/hooks";
import { agents } from "../board/store.ts";
import type { Change } from "../live.ts";
import { useResource } from "../resource.ts";
import { toFile } from "../route.ts";
import type { Artifact } from "../types.ts";
import { Confirm } from "../ui/confirm.tsx";
import { Problem } from "../ui/parts.tsx";
import { toPlain } from "../ui/plain.ts";
import { Time } from "../ui/time.tsx";
import { attempt } from "../ui/toast.tsx";
import { Progress } from "../ui/work.tsx";
import { addFile, readFiles, removeFile, saveFile, toSize } from "./read.ts";

interface Props {
  board_id: string;
  task_id: string;
  mayWrite: boolean;
}

/** Shows the files of a task: results of agents, and files that people attached for the agents. */
export function Files({ board_id, task_id, mayWrite }: Props) {
  const isOwn = ({ type, task_id: of }: Change) => type === "artifact" && of === task_id;
  const { data, error, reload } = useResource((signal) => readFiles(board_id, task_id, signal), [task_id], isOwn, true);
  if (!error && !data?.items.length && !mayWrite) return null;
  return (
    <section>
      <div class="view-intro">
        <h3>Files</h3>
        {mayWrite && <Add board_id={board_id} task_id={task_id} onAdded={reload} />}
      </div>
      <Problem error={error} retry={reload} />
      {data?.items.length === 0 && <p class="muted">There are no files.</p>}
      {data && data.items.length > 0 && (
        <ul class="rows">
          {data.items.map((file) => (
            <FileRow key={file.id} file={file} mayWrite={mayWrite} onChanged={reload} />
          ))}
        </ul>
      )}
      {data && data.total > data.items.length && <p class="muted">{data.total - data.items.length} more files are not shown.</p>}
    </section>
  );
}

function Add({ board_id, task_id, onAdded }: { board_id: string; task_id: string; onAdded: () => Promise<void> }) {
  const input = useRef<HTMLInputElement>(null);
  const [name, setName] = useState<string | null>(null);
  const add = async (files: readonly File[]) => {
    for (const file of files) {
      setName(file.name);
      await attempt(`“${file.name}” was not added`, () => addFile(board_id, task_id, file));
    }
    setName(null);
    if (input.current) input.current.value = "";
    await onAdded();
  };
  if (name !== null) return <Progress label={`Sending ${name} …`} />;
  return (
    <label class="button small">
      Add files
      <input
        ref={input}
        class="visually-hidden"
        type="file"
        multiple
        onChange={(event) => void add([...(event.currentTarget.files ?? [])])}
      />
    </label>
  );
}

function FileRow({ file, mayWrite, onChanged }: { file: Artifact; mayWrite: boolean; onChanged: () => Promise<void> }) {
  const { board_id, task_id, id, status, agent_id } = file;
  const name = toPlain(file.name);
  return (
    <li class="row">
      <div class="grow">
        {status === "ready" ? (
          <a href={toFile(board_id, task_id, id)} dir="auto">
            {name}
          </a>
        ) : (
          <span dir="auto">{name}</span>
        )}
        <span class="muted">
          {status === "ready" ? toSize(file.size) : "is being sent"}
          {agent_id ? ` · ${agents.value.get(agent_id)?.name ?? "an agent"}` : ""} · <Time at={file.created_at} />
        </span>
      </div>
      <div class="actions wrap">
        {status === "ready" && (
          <button
            type="button"
            class="small"
            aria-label={`Save ${name}`}
            onClick={() => attempt("The file was not saved", () => saveFile(file))}
          >
            Save
          </button>
        )}
        {mayWrite && (
          <Confirm
            label="Remove"
            question="It cannot be restored."
            confirm="Remove the file"
            failure="The file was not removed"
            act={() => removeFile(file)}
            onDone={onChanged}
          />
        )}
      </div>
    </li>
  );
}
