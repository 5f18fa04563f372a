import { changeTask } from "../board/store.ts";
import { useResource } from "../resource.ts";
import type { Task } from "../types.ts";
import { Form } from "../ui/form.tsx";
import { Dialog, Loading, Problem } from "../ui/parts.tsx";
import { readTaskChoices, taskFields, toBody, toTyped } from "./fields.ts";

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
          submit={(_typed, changed) => changeTask(task, toBody(data, changed))}
          onDone={onClose}
        />
      )}
    </Dialog>
  );
}
