import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { api, isStatus, messageOf } from "../api.ts";
import {
  agents,
  blockersOf,
  board,
  changeTask,
  complete,
  deleteTask,
  isShortened,
  moveTask,
  putTask,
  tasks,
} from "../board/store.ts";
import { go, route, toTask } from "../route.ts";
import { Runs } from "../run/runs.tsx";
import { PRIORITIES, type Status, STATUS_NAMES, STATUSES, type Task } from "../types.ts";
import { lazy } from "../ui/lazy.tsx";
import { Markdown, RawToggle } from "../ui/markdown.tsx";
import { Loading, Problem } from "../ui/parts.tsx";
import { optionOf, Select } from "../ui/select.tsx";
import { attempt } from "../ui/toast.tsx";
import { isPast, Time } from "../ui/time.tsx";
import { Approvals } from "./approvals.tsx";
import { Comments } from "./comments.tsx";
import { History } from "./history.tsx";
import { Origin } from "./origin.tsx";

interface Props {
  board_id: string;
  task_id: string;
  mayWrite: boolean;
  onClose: () => void;
}

const ScopeBudget = lazy("the budget", async () => (await import("../usage/scope-budget.tsx")).ScopeBudget);
const FileView = lazy("the file", async () => (await import("../file/file-view.tsx")).FileView);
const Files = lazy("the files", async () => (await import("../file/files.tsx")).Files);
const Decide = lazy("the decision", async () => (await import("./decide.tsx")).Decide);
const EditTask = lazy("the form", async () => (await import("./edit.tsx")).EditTask);
const CustomValues = lazy("the fields", async () => (await import("./values.tsx")).CustomValues);
const FollowingTask = lazy("following", async () => (await import("./following.tsx")).FollowingTask);
const RunView = lazy("the run", async () => (await import("../run/run-view.tsx")).RunView);

/** Shows everything about one task, next to its board. */
export function Story({ board_id, task_id, mayWrite, onClose }: Props) {
  const { run_id, artifact_id } = route.value;
  const isWide = run_id !== null || artifact_id !== null;
  const panel = useRef<HTMLDivElement>(null);
  const known = tasks.value.get(task_id);
  const full = useWholeTask(known, board_id, task_id);

  useEffect(() => panel.current?.focus(), [run_id, artifact_id]);
  // A layout effect, because a key may be pressed before an ordinary effect has run.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      if (isWide) go(toTask(board_id, task_id));
      else onClose();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [onClose, isWide]);

  return (
    <div
      class={isWide ? "story wide" : "story"}
      ref={panel}
      tabIndex={-1}
      role="dialog"
      aria-label={known ? `Task: ${known.title.slice(0, 100)}` : "Task"}
    >
      <header class="story-head">
        <span class="muted">{board.value?.name}</span>
        <button type="button" class="plain icon" aria-label="Close the task" onClick={onClose}>
          ×
        </button>
      </header>
      {run_id ? (
        <RunView key={run_id} board_id={board_id} task_id={task_id} run_id={run_id} mayWrite={mayWrite} />
      ) : artifact_id ? (
        <FileView key={artifact_id} {...{ board_id, task_id, artifact_id, mayWrite }} task={known} />
      ) : known ? (
        <div class="story-body">
          <div class="story-title">
            <h2 dir="auto">{known.title}</h2>
            <div class="actions">
              <FollowingTask board_id={board_id} task_id={task_id} />
              {mayWrite && <Edit task={known} description={full.description ?? ""} />}
            </div>
          </div>
          <Properties task={known} mayWrite={mayWrite} />
          {mayWrite && known.status === "review" && <Decide task={known} />}
          <Problem error={full.error} />
          {full.description ? <Description text={full.description} /> : <p class="muted">No description.</p>}
          <Origin board_id={board_id} text={full.description ?? ""} mayWrite={mayWrite} />
          {Object.keys(known.custom_field_values).length > 0 && <CustomValues task={known} />}
          <Dependencies task={known} />
          <Files board_id={board_id} task_id={task_id} mayWrite={mayWrite} />
          <Approvals board_id={board_id} task_id={task_id} mayWrite={mayWrite} />
          <Runs board_id={board_id} task_id={task_id} />
          {mayWrite && <ScopeBudget scope="task" scope_id={task_id} heading="h3" />}
          <Comments board_id={board_id} task_id={task_id} mayWrite={mayWrite} />
          <History task_id={task_id} />
          {mayWrite && <Remove task={known} onRemoved={onClose} />}
        </div>
      ) : (
        <Unknown board_id={board_id} task_id={task_id} />
      )}
    </div>
  );
}

const TASK = "/api/v1/boards/{board_id}/tasks/{task_id}";

/** Reads a task that is not among the tasks of the board's snapshot. A snapshot has only the newest tasks of a large board. */
function Unknown({ board_id, task_id }: { board_id: string; task_id: string }) {
  const [isMissing, setMissing] = useState(!isShortened.value);
  const [error, setError] = useState<string | null>(null);
  const read = async () => {
    setError(null);
    try {
      putTask(complete(await api.get(TASK, { params: { path: { board_id, task_id } } })));
    } catch (reason) {
      if (isStatus(reason, 404) || isStatus(reason, 422)) setMissing(true);
      else setError(messageOf(reason));
    }
  };
  useEffect(() => void (isMissing || read()), []);
  if (isMissing) return <p class="story-body">This task does not exist, or was removed.</p>;
  return <div class="story-body">{error === null ? <Loading what="the task" /> : <Problem error={error} retry={read} />}</div>;
}

/** Reads the whole description of a task if the board's snapshot has only its beginning. */
function useWholeTask(known: Task | undefined, board_id: string, task_id: string) {
  const [whole, setWhole] = useState<string | null>(null);
  const [error, setError] = useState<string | null>(null);
  const isCut = known?.truncated_fields?.includes("description") ?? false;
  useEffect(() => {
    setError(null);
    if (!isCut) return setWhole(null);
    const stop = new AbortController();
    api.get(TASK, { params: { path: { board_id, task_id } }, signal: stop.signal }).then(
      ({ description }) => stop.signal.aborted || setWhole(description),
      (reason: unknown) => stop.signal.aborted || setError(messageOf(reason)),
    );
    return () => stop.abort();
  }, [isCut, known?.updated_at]);
  return { description: whole ?? known?.description ?? null, error };
}

function Properties({ task, mayWrite }: { task: Task; mayWrite: boolean }) {
  /** Stores the choice of a person. If that fails, the select shows the stored value again. */
  const change = async (select: HTMLSelectElement, stored: string, body: Parameters<typeof changeTask>[1]) => {
    if (!(await attempt("The task was not changed", () => changeTask(task, body)))) select.value = stored;
  };
  const priorities = PRIORITIES.some((name) => name === task.priority) ? PRIORITIES : [task.priority, ...PRIORITIES];
  /** The assignee, if it is an agent that is not on the board. */
  const other =
    task.assigned_agent_id && !agents.value.has(task.assigned_agent_id)
      ? ([task.assigned_agent_id, task.assignee ?? "Another agent"] as const)
      : null;
  return (
    <dl class="properties">
      <dt>Status</dt>
      <dd>
        {mayWrite ? (
          <Select
            label="Status"
            value={task.status}
            options={STATUSES.map((status) => [status, STATUS_NAMES[status]] as const)}
            onChoose={async (status, select) => {
              if (!(await moveTask(task, status as Status))) select.value = task.status;
            }}
          />
        ) : (
          STATUS_NAMES[task.status]
        )}
      </dd>
      <dt>Assignee</dt>
      <dd>
        {mayWrite ? (
          <Select
            label="Assignee"
            value={task.assigned_agent_id ?? ""}
            options={[["", "Nobody"], ...(other ? [other] : []), ...[...agents.value.values()].map(optionOf)]}
            onChoose={(id, select) => change(select, task.assigned_agent_id ?? "", { assigned_agent_id: id || null })}
          />
        ) : (
          (task.assignee ?? "Nobody")
        )}
      </dd>
      <dt>Priority</dt>
      <dd>
        {mayWrite ? (
          <Select
            label="Priority"
            value={task.priority}
            options={priorities.map((name) => [name, name] as const)}
            onChoose={(priority, select) => change(select, task.priority, { priority })}
          />
        ) : (
          task.priority
        )}
      </dd>
      {task.due_at && (
        <>
          <dt>Due</dt>
          <dd>
            <Time at={task.due_at} />
          </dd>
        </>
      )}
      {task.lease && (
        <>
          <dt>Lease</dt>
          <dd>
            {isPast(task.lease.expires_at) ? "expired " : "ends "}
            <Time at={task.lease.expires_at} />
          </dd>
        </>
      )}
      {task.submitted_by_agent_id && (
        <>
          <dt>Handed in by</dt>
          <dd dir="auto">{agents.value.get(task.submitted_by_agent_id)?.name ?? "an agent that is gone"}</dd>
        </>
      )}
      <dt>Created</dt>
      <dd>
        <Time at={task.created_at} />
      </dd>
    </dl>
  );
}

/** A description without any Markdown syntax is shown without loading the Markdown script. */
const MARKS = /[*_`#>|~[\]<]|^\s*(?:[-+]|\d{1,9}[.)])\s/m;

function Description({ text }: { text: string }) {
  const [isRaw, setRaw] = useState(false);
  const isMarked = MARKS.test(text);
  return (
    <>
      {isMarked && <RawToggle isRaw={isRaw} onChange={setRaw} />}
      {isMarked && !isRaw ? (
        <Markdown text={text} />
      ) : (
        <p class="text" dir="auto">
          {text}
        </p>
      )}
    </>
  );
}

function Edit({ task, description }: { task: Task; description: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" class="small" onClick={() => setOpen(true)}>
        Change
      </button>
      {isOpen && <EditTask task={task} description={description} onClose={() => setOpen(false)} />}
    </>
  );
}

function Dependencies({ task }: { task: Task }) {
  if (task.depends_on_task_ids.length === 0) return null;
  const blockers = blockersOf(task);
  return (
    <section>
      <h3>Depends on</h3>
      <ul class="plain-list">
        {task.depends_on_task_ids.map((id) => {
          const dependency = tasks.value.get(id);
          return (
            <li key={id} class="dependency">
              <a href={toTask(task.board_id, id)} dir="auto">
                {dependency?.title ?? id}
              </a>{" "}
              <span class={blockers.includes(id) ? "badge warning" : "badge"}>
                {dependency ? STATUS_NAMES[dependency.status] : "not on this page"}
              </span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** Removing takes two clicks, because a removed task cannot be restored. */
function Remove({ task, onRemoved }: { task: Task; onRemoved: () => void }) {
  const [isAsking, setAsking] = useState(false);
  const remove = async () => {
    if (await attempt("The task was not removed", () => deleteTask(task))) onRemoved();
  };
  if (!isAsking)
    return (
      <button type="button" class="plain danger-text" onClick={() => setAsking(true)}>
        Remove this task
      </button>
    );
  return (
    <p class="confirm">
      Remove it with its comments?{" "}
      <button type="button" class="danger" onClick={remove}>
        Remove
      </button>{" "}
      <button type="button" onClick={() => setAsking(false)}>
        Keep it
      </button>
    </p>
  );
}
