import { useState } from "preact/hooks";
import { toTask, withSameQuery } from "../route.ts";
import { PRIORITIES, type Status, STATUS_NAMES, STATUSES, type Task } from "../types.ts";
import { Empty } from "../ui/parts.tsx";
import { usePortions } from "../ui/portions.ts";
import { Select } from "../ui/select.tsx";
import { Time } from "../ui/time.tsx";
import { announce, attempt } from "../ui/toast.tsx";
import { blockersOf, changeTask, listed, moveTask } from "./store.ts";
import "../styles/parts.css";

const PORTION = 60;

/** Shows all tasks of a board in one table, where several can be changed together. */
export function ListView({ mayWrite }: { mayWrite: boolean }) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const all = listed.value;
  const { shown, hasMore, end } = usePortions<HTMLDivElement>(all.length, PORTION);
  const picked = all.filter(({ id }) => chosen.has(id));
  const toggle = (id: string, isChosen: boolean) => {
    const next = new Set(chosen);
    if (isChosen) next.add(id);
    else next.delete(id);
    setChosen(next);
  };
  if (all.length === 0) return <Empty title="No task matches.">Show all, or type less.</Empty>;
  return (
    <div class="task-list">
      {mayWrite && picked.length > 0 && <Bulk tasks={picked} onDone={(failed) => setChosen(new Set(failed))} />}
      <div class="table texts" role="region" aria-label="Tasks" tabIndex={0}>
        <table>
          <thead>
            <tr>
              {mayWrite && (
                <td>
                  <input
                    type="checkbox"
                    aria-label="Choose all that are listed"
                    checked={picked.length === all.length}
                    onChange={(event) => setChosen(new Set(event.currentTarget.checked ? all.map(({ id }) => id) : []))}
                  />
                </td>
              )}
              {["Task", "Status", "Priority", "Assignee", "Due", "Changed"].map((label) => (
                <th key={label} scope="col">
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {all.slice(0, shown).map((task) => (
              <Row
                key={task.id}
                task={task}
                isChosen={mayWrite ? chosen.has(task.id) : null}
                onChoose={(isChosen) => toggle(task.id, isChosen)}
              />
            ))}
          </tbody>
        </table>
      </div>
      {hasMore && <div ref={end} class="more" aria-hidden="true" />}
    </div>
  );
}

interface RowProps {
  task: Task;
  /** Whether the row's box is checked. Null for people who may only read, who get no box. */
  isChosen: boolean | null;
  onChoose: (isChosen: boolean) => void;
}

function Row({ task, isChosen, onChoose }: RowProps) {
  const blockers = blockersOf(task).length;
  return (
    <tr>
      {isChosen !== null && (
        <td>
          <input
            type="checkbox"
            aria-label={`Choose ${task.title}`}
            checked={isChosen}
            onChange={(event) => onChoose(event.currentTarget.checked)}
          />
        </td>
      )}
      <th scope="row">
        <a href={withSameQuery(toTask(task.board_id, task.id))} dir="auto">
          {task.title}
        </a>
      </th>
      <td>
        {STATUS_NAMES[task.status]}
        {blockers > 0 && <span class="badge warning">blocked by {blockers}</span>}
      </td>
      <td>{task.priority}</td>
      <td dir="auto">{task.assignee ?? ""}</td>
      <td>{task.due_at && <Time at={task.due_at} />}</td>
      <td>
        <Time at={task.updated_at} />
      </td>
    </tr>
  );
}

/**
 * Changes several tasks one after the other. The board's rules apply to each task, and a refusal names the refused task.
 * Refused tasks stay chosen, because only the last few refusals are shown.
 */
function Bulk({ tasks, onDone }: { tasks: readonly Task[]; onDone: (failed: readonly string[]) => void }) {
  const [isBusy, setBusy] = useState(false);
  const each = async (act: (task: Task) => Promise<boolean>) => {
    setBusy(true);
    const failed: string[] = [];
    for (const task of tasks) if (!(await act(task))) failed.push(task.id);
    setBusy(false);
    announce(`${tasks.length - failed.length} of ${tasks.length} tasks were changed`);
    onDone(failed);
  };
  const setPriority = (task: Task, priority: string) =>
    attempt(`“${task.title}” was not changed`, () => changeTask(task, { priority }));
  return (
    <div class="bulk" role="group" aria-label="Change the chosen tasks">
      <span>{tasks.length === 1 ? "1 task" : `${tasks.length} tasks`}</span>
      <Select
        label="Move the chosen tasks"
        disabled={isBusy}
        value=""
        options={[["", "Move to …"], ...STATUSES.map((status) => [status, STATUS_NAMES[status]] as const)]}
        onChoose={(status) => each((task) => moveTask(task, status as Status))}
      />
      <Select
        label="Priority of the chosen tasks"
        disabled={isBusy}
        value=""
        options={[["", "Priority …"], ...PRIORITIES.map((name) => [name, name] as const)]}
        onChoose={(priority) => each((task) => setPriority(task, priority))}
      />
      <button type="button" class="plain" onClick={() => onDone([])}>
        Choose none
      </button>
    </div>
  );
}
