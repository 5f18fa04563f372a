import { useState } from "preact/hooks";
import { SessionDialog } from "../gateway/sessions.tsx";
import { toBoard, toView } from "../route.ts";
import { boardName } from "../session.ts";
import type { Agent } from "../types.ts";
import { Time } from "../ui/time.tsx";
import { Token } from "./token.tsx";

interface Props {
  agent: Agent;
  mayChange: boolean;
  onChanged: () => Promise<void>;
}

export function Details({ agent, mayChange, onChanged }: Props) {
  const [isOpen, setOpen] = useState(false);
  const { board_id, gateway_id, openclaw_session_id: session_id } = agent;
  return (
    <dl class="details card-panel">
      {board_id && (
        <>
          <dt>Board</dt>
          <dd>
            <a href={toBoard(board_id)} dir="auto">
              {boardName(board_id)}
            </a>
          </dd>
        </>
      )}
      <dt>Gateway</dt>
      <dd>
        <a href={toView("gateways", gateway_id)}>Open its gateway</a>
      </dd>
      <dt>Last seen</dt>
      <dd>{agent.last_seen_at ? <Time at={agent.last_seen_at} /> : "never"}</dd>
      {session_id && (
        <>
          <dt>Session</dt>
          <dd>
            <code>{session_id}</code>{" "}
            <button type="button" class="small" onClick={() => setOpen(true)}>
              History and message
            </button>
          </dd>
        </>
      )}
      <dt>Token</dt>
      <dd>
        <Token agent={agent} mayChange={mayChange} onChanged={onChanged} />
      </dd>
      <dt>Made</dt>
      <dd>
        <Time at={agent.created_at} />
      </dd>
      {agent.last_provision_error && (
        <>
          <dt>Last problem</dt>
          <dd class="danger-text text" dir="auto">
            {agent.last_provision_error}
          </dd>
        </>
      )}
      {isOpen && session_id && <SessionDialog gateway_id={gateway_id} session_id={session_id} onClose={() => setOpen(false)} />}
    </dl>
  );
}
