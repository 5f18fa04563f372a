import { useState } from "preact/hooks";
import { api } from "../api.ts";
import type { Agent } from "../types.ts";
import { Confirm } from "../ui/confirm.tsx";
import { Secret } from "../ui/secret.tsx";
import { showInfo } from "../ui/toast.tsx";

interface Props {
  agent: Agent;
  mayChange: boolean;
  onChanged: () => Promise<void>;
}

/** Replaces a token that is lost or that others know. People see the new one only if the agent has no host. */
export function Token({ agent, mayChange, onChanged }: Props) {
  const [made, setMade] = useState<{ token: string | null } | null>(null);
  const hasHost = agent.openclaw_session_id !== null;
  const replace = async () => {
    const { auth_token } = await api.post("/api/v1/agents/{agent_id}/token", { params: { path: { agent_id: agent.id } } });
    if (hasHost) showInfo("The old token has stopped. Its host gets the new one.");
    else setMade({ token: auth_token });
  };
  if (made) return <Secret label={`Token of ${agent.name}`} text={made.token} onDone={() => setMade(null)} />;
  return (
    <>
      {hasHost ? "Only its host has it." : "Shown once, when it is made."}{" "}
      {mayChange && (
        <Confirm
          label="New token"
          question={
            hasHost
              ? "The old token stops at once. Its host gets the new one, and a new session begins."
              : "The old token stops at once, also for its runs. The new one is shown once."
          }
          confirm="Replace the token"
          failure="The token was not replaced"
          act={replace}
          onDone={onChanged}
        />
      )}
    </>
  );
}
