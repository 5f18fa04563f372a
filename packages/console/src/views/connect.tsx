import { type Connection, connectionLines } from "@board/cli/connection-lines";
import { useState } from "preact/hooks";
import { api } from "../api.ts";
import { toView } from "../route.ts";
import type { Board } from "../types.ts";
import { type FieldSpec, Form } from "../ui/form.tsx";
import { Snippet } from "../ui/parts.tsx";
import { optionOf } from "../ui/select.tsx";
import { textOf } from "../ui/values.ts";

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
  /** Whether the form begins with a lead. */
  isLead?: boolean;
  onConnected: () => void;
}

const fieldsFor = (boards: readonly Board[]): FieldSpec[] => [
  { name: "name", label: "Name of the agent" },
  { name: "board_id", label: "Board", kind: "choice", options: boards.map(optionOf) },
  { name: "is_board_lead", label: "It leads the board: it creates tasks and reviews them", kind: "check" },
];

/** Creates an agent and shows the commands to copy. */
export function Connect({ boards, isLead = false, onConnected }: Props) {
  const [created, setCreated] = useState<{ id: string; name: string; token: string | null } | null>(null);

  if (created?.token === null)
    return (
      <p class="danger-text" role="status">
        <a href={toView("agents", created.id)} dir="auto">
          {created.name}
        </a>{" "}
        was created, but the answer with its token was lost. Make a new token on the page of the agent.
      </p>
    );
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
    <Form
      name={isLead ? "lead.new" : "agent.new"}
      fields={fieldsFor(boards)}
      start={{ name: "", board_id: boards[0]?.id ?? "", is_board_lead: isLead }}
      label="Create the agent"
      submit={async (typed) => {
        const is_board_lead = typed["is_board_lead"] === true;
        const body = { name: textOf(typed, "name"), board_id: textOf(typed, "board_id"), is_board_lead };
        const agent = await api.post("/api/v1/agents", { body });
        // A repeated answer has no token, because the service shows it only once.
        setCreated({ id: agent.id, name: agent.name, token: agent.auth_token ?? null });
      }}
      onDone={onConnected}
    />
  );
}
