import { type Connection, connectionLines } from "@board/cli/connection-lines";
import { useState } from "preact/hooks";
import { api } from "../api.ts";
import type { Board } from "../types.ts";
import { Snippet } from "../ui/parts.tsx";
import { attempt } from "../ui/toast.tsx";

/** Shows the commands of a connection: the first connects, the second starts the agent, and the third lets it work alone. */
function Lines({ connection, isOpen }: { connection: Connection; isOpen: boolean }) {
  const { title, scope, line, attended, unattended } = connection;
  return (
    <details open={isOpen}>
      <summary>{title}</summary>
      <Snippet label={scope ? `Holds ${scope}` : "To copy"} text={attended ? `${line}\n${attended}` : line} />
      {unattended && <Snippet label="To let it work alone" text={unattended} />}
    </details>
  );
}

interface Props {
  boards: readonly Board[];
  onConnected: () => void;
}

/** Creates an agent and shows the commands to copy. */
export function Connect({ boards, onConnected }: Props) {
  const [name, setName] = useState("");
  const [board_id, setBoard] = useState(boards[0]?.id ?? "");
  const [isLead, setLead] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [created, setCreated] = useState<{ name: string; token: string } | null>(null);

  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    const isCreated = await attempt("The agent was not created", async () => {
      const agent = await api.post("/api/v1/agents", { body: { name, board_id, is_board_lead: isLead } });
      setCreated({ name: agent.name, token: agent.auth_token! });
    });
    setBusy(false);
    if (isCreated) onConnected();
  };

  if (created)
    return (
      <div class="panel" role="status">
        <p>
          <strong dir="auto">{created.name}</strong> is ready. Copy what you need now: the token is not shown again.
        </p>
        {connectionLines({ url: location.origin, source: { token: created.token } }).map((connection, index) => (
          <Lines key={connection.title} connection={connection} isOpen={index === 0} />
        ))}
        <p class="muted">Then say to it: “Work on the tasks of your board.”</p>
      </div>
    );
  return (
    <form class="form" onSubmit={submit}>
      <label>
        Name of the agent
        <input required maxLength={200} value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </label>
      <label>
        Board
        <select value={board_id} onChange={(event) => setBoard(event.currentTarget.value)}>
          {boards.map((board) => (
            <option key={board.id} value={board.id}>
              {board.name}
            </option>
          ))}
        </select>
      </label>
      <label class="check">
        <input type="checkbox" checked={isLead} onChange={(event) => setLead(event.currentTarget.checked)} />
        <span>It leads the board: it creates tasks and reviews them</span>
      </label>
      <div class="form-actions">
        <button type="submit" class="primary" disabled={isBusy}>
          Create the agent
        </button>
      </div>
    </form>
  );
}
