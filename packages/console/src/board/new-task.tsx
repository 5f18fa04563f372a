import { useRef } from "preact/hooks";
import { useResource } from "../resource.ts";
import { NO_CHOICES, readTaskChoices, taskFields, toBody, toTyped } from "../task/fields.ts";
import { Form } from "../ui/form.tsx";
import { Dialog, Problem } from "../ui/parts.tsx";
import { focusCard } from "./keys.ts";
import { createTask } from "./store.ts";

/**
 * Creates a task from a form with all fields of a task. Typing can begin at once; tags and custom fields appear once they are
 * loaded.
 */
export function NewTask({ board_id, onClose }: { board_id: string; onClose: () => void }) {
  const read = (signal: AbortSignal) => readTaskChoices(board_id, signal);
  const { data, error, reload } = useResource(read, [board_id], () => false, true);
  const created = useRef("");
  const choices = data ?? NO_CHOICES;
  return (
    <Dialog title="New task" onClose={onClose}>
      <Problem error={error} retry={reload} />
      <Form
        name={`new-task.${board_id}`}
        fields={taskFields(choices, null)}
        start={toTyped(choices, null, "")}
        label="Create task"
        focusFirst
        submit={async (typed, changed) => {
          const { title = "", ...more } = toBody(choices, { ...changed, title: typed["title"] ?? "" });
          created.current = (await createTask(board_id, { title, ...more })).id;
        }}
        onDone={() => {
          onClose();
          focusCard(created.current);
        }}
      />
    </Dialog>
  );
}
