import { useState } from "preact/hooks";
import { useDraft } from "../draft.ts";
import { PRIORITIES } from "../types.ts";
import { Dialog } from "../ui/parts.tsx";
import { attempt } from "../ui/toast.tsx";
import { focusCard } from "./keys.ts";
import { agents, createTask } from "./store.ts";

export function NewTask({ board_id, onClose }: { board_id: string; onClose: () => void }) {
  const [title, setTitle] = useDraft(`title.${board_id}`);
  const [description, setDescription] = useDraft(`description.${board_id}`);
  const [priority, setPriority] = useState<string>("medium");
  const [assignee, setAssignee] = useState("");
  const [isSending, setSending] = useState(false);

  const submit = async (event: Event) => {
    event.preventDefault();
    setSending(true);
    let id = "";
    const isCreated = await attempt("The task was not created", async () => {
      const body = { title, description: description || null, priority, assigned_agent_id: assignee || null };
      ({ id } = await createTask(board_id, body));
    });
    setSending(false);
    if (!isCreated) return;
    setTitle("");
    setDescription("");
    onClose();
    focusCard(id);
  };

  return (
    <Dialog title="New task" onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <label>
          Title
          <input
            required
            maxLength={500}
            autofocus
            dir="auto"
            value={title}
            onInput={(event) => setTitle(event.currentTarget.value)}
          />
        </label>
        <label>
          Description
          <textarea rows={5} dir="auto" value={description} onInput={(event) => setDescription(event.currentTarget.value)} />
        </label>
        <div class="form-row">
          <label>
            Priority
            <select value={priority} onChange={(event) => setPriority(event.currentTarget.value)}>
              {PRIORITIES.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
          <label>
            Assignee
            <select value={assignee} onChange={(event) => setAssignee(event.currentTarget.value)}>
              <option value="">Nobody yet</option>
              {[...agents.value.values()].map((agent) => (
                <option key={agent.id} value={agent.id}>
                  {agent.name}
                </option>
              ))}
            </select>
          </label>
        </div>
        <div class="form-actions">
          <button type="submit" class="primary" disabled={isSending}>
            Create task
          </button>
        </div>
      </form>
    </Dialog>
  );
}
