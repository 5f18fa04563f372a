import { api } from "../api.ts";
import { agents, complete, moveTask, putTask } from "../board/store.ts";
import type { Task } from "../types.ts";
import { FormButton } from "../ui/form-button.tsx";
import { showInfo } from "../ui/toast.tsx";
import { textOrNull } from "../ui/values.ts";
import type { FieldSpec } from "../ui/form.tsx";
import { optionOf } from "../ui/select.tsx";

const COMMENT: FieldSpec = {
  name: "comment",
  label: "What is missing",
  kind: "long",
  hint: "The agent gets it in one message with all comments since the task was handed in.",
};

/** Moves a task in review to done, if the board's rules allow it, or sends it back to an agent with the open comments. */
export function Decide({ task }: { task: Task }) {
  const params = { path: { board_id: task.board_id, task_id: task.id } };
  const choose: FieldSpec = {
    name: "assigned_agent_id",
    label: "Agent",
    kind: "choice",
    options: [["", "Choose an agent"], ...[...agents.value.values()].map(optionOf)],
    hint: "No agent of this board has handed in this task, so choose the one that does the work.",
  };
  const fields = agents.value.has(task.submitted_by_agent_id ?? "") ? [COMMENT] : [COMMENT, choose];
  const sendBack = async (comment: string | null, assigned_agent_id: string | null) => {
    const body = { comment, ...(assigned_agent_id === null ? {} : { assigned_agent_id }) };
    putTask(complete(await api.post("/api/v1/boards/{board_id}/tasks/{task_id}/send-back", { params, body })));
    showInfo("The agent was told, with the comments of this review.");
  };
  return (
    <div class="actions wrap">
      <FormButton
        title="Send back"
        name={`send-back.${task.id}`}
        fields={fields}
        start={{ comment: "", assigned_agent_id: "" }}
        label="Send the task back"
        submit={(typed) => sendBack(textOrNull(typed, "comment"), textOrNull(typed, "assigned_agent_id"))}
      />
      <button type="button" class="primary" onClick={() => moveTask(task, "done")}>
        Approve
      </button>
    </div>
  );
}
