import { useResource } from "../resource.ts";
import { readTaskChoices, taskFields, toBody, toTyped } from "../task/fields.ts";
import { Form } from "../ui/form.tsx";
import { Dialog, Loading, Problem } from "../ui/parts.tsx";
import { focusCard } from "./keys.ts";
import { createTask } from "./store.ts";

/** A new task with everything that a task may have. */
export function NewTask({ board_id, onClose }: { board_id: string; onClose: () => void }) {
  const { data, error, reload } = useResource(
    (signal) => readTaskChoices(board_id, signal),
    [board_id],
    () => false,
    true,
  );
  return (
    <Dialog title="New task" onClose={onClose}>
      <Problem error={error} retry={reload} />
      {!data && !error && <Loading what="the fields" />}
      {data && (
        <Form
          name={`new-task.${board_id}`}
          fields={taskFields(data, null)}
          start={toTyped(data, null, "")}
          label="Create task"
          submit={async (typed, changed) => {
            const { title = "", ...more } = toBody(data, { ...changed, title: typed["title"] ?? "" });
            const { id } = await createTask(board_id, { title, ...more });
            focusCard(id);
          }}
          onDone={onClose}
        />
      )}
    </Dialog>
  );
}
