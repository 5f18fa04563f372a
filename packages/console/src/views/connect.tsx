import { useState } from "preact/hooks";
import { api } from "../api.ts";
import type { Board } from "../types.ts";
import { Snippet } from "../ui/parts.tsx";
import { attempt } from "../ui/toast.tsx";

/** The ways in which a new agent takes its work. The token is shown once. */
function toSnippets(url: string, token: string): { label: string; text: string }[] {
  return [
    {
      label: "Claude Code",
      text: `claude mcp add --transport http board ${url}/mcp --header "Authorization: Bearer ${token}"`,
    },
    {
      label: "Codex, in ~/.codex/config.toml",
      text: `[mcp_servers.board]\nurl = "${url}/mcp"\nhttp_headers = { Authorization = "Bearer ${token}" }`,
    },
    {
      label: "Cursor and others, in mcp.json",
      text: JSON.stringify(
        { mcpServers: { board: { url: `${url}/mcp`, headers: { Authorization: `Bearer ${token}` } } } },
        null,
        2,
      ),
    },
    {
      label: "curl: take the next task",
      text: `curl -s ${url}/api/v1/agent/tasks/next -H "X-Agent-Token: ${token}" -H "Content-Type: application/json" -d '{}'`,
    },
    {
      label: "TypeScript",
      text: `import { createClient } from "@board/client/client";

const agent = createClient({ url: "${url}", agent_token: "${token}" });
const { task } = await agent.post("/api/v1/agent/tasks/next", { body: {} });`,
    },
  ];
}

interface Props {
  boards: readonly Board[];
  onConnected: () => void;
}

/** Makes an agent and shows the lines to copy. */
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
      setCreated({ name: agent.name, token: agent.auth_token });
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
        {toSnippets(location.origin, created.token).map(({ label, text }) => (
          <Snippet key={label} label={label} text={text} />
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
