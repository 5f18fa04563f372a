import { api, isStatus } from "../api.ts";
import { changeTask, complete, putTask } from "../board/store.ts";
import { useResource } from "../resource.ts";
import type { Task } from "../types.ts";
import { ChangedError, isSame } from "../ui/form-draft.ts";
import { Form, type Typed } from "../ui/form.tsx";
import { Dialog, Loading, Problem } from "../ui/parts.tsx";
import { readTaskChoices, type TaskChoices, taskFields, toBody, toTyped } from "./fields.ts";

/** Saving is retried when an agent changes the task at that moment, which hardly happens several times in a row. */
const MAX_ATTEMPTS = 5;

/**
 * Saves fields unless somebody else has changed these fields since the person began to type. Other changes of the task, such as
 * moving it, do not matter.
 */
async function save(task: Task, choices: TaskChoices, changed: Typed, before: Typed): Promise<void> {
  const params = { path: { board_id: task.board_id, task_id: task.id } };
  for (let attempt = 1; ; attempt++) {
    const { data, headers } = await api.send("get", "/api/v1/boards/{board_id}/tasks/{task_id}", { params });
    const known = complete(data);
    const current = toTyped(choices, known, data.description ?? "");
    const isElsewhere = (name: string) => !isSame(current[name], before[name]) && !isSame(current[name], changed[name]);
    const elsewhere = Object.keys(changed).filter(isElsewhere);
    if (elsewhere.length > 0) {
      putTask(known);
      throw new ChangedError(Object.fromEntries(elsewhere.map((name) => [name, current[name]!])));
    }
    try {
      return await changeTask(task, toBody(choices, changed), headers.get("ETag") ?? undefined);
    } catch (error) {
      if (!isStatus(error, 412) || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

interface Props {
  task: Task;
  /** The full description; the board has only a shortened one. */
  description: string;
  onClose: () => void;
}

/** Changes a task: title, description, due date, tags, dependencies and custom fields. */
export function EditTask({ task, description, onClose }: Props) {
  const { board_id, id } = task;
  const { data, error, reload } = useResource(
    (signal) => readTaskChoices(board_id, signal),
    [board_id],
    () => false,
    true,
  );
  return (
    <Dialog title="Change the task" onClose={onClose}>
      <Problem error={error} retry={reload} />
      {!data && !error && <Loading what="the fields" />}
      {data && (
        <Form
          name={`task.${id}`}
          fields={taskFields(data, task)}
          start={toTyped(data, task, description)}
          label="Save"
          submit={(_typed, changed, before) => save(task, data, changed, before)}
          onDone={onClose}
        />
      )}
    </Dialog>
  );
}
