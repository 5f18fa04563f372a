import { useState } from "preact/hooks";
import { api } from "../api.ts";
import type { SlackLink } from "../types.ts";
import { Snippet } from "../ui/parts.tsx";
import { Time } from "../ui/time.tsx";
import { attempt } from "../ui/toast.tsx";

/** Links the person's Slack user: the console shows a command, and the person sends it in Slack. */
export function LinkSlack({ onChanged }: { onChanged: () => Promise<void> }) {
  const [link, setLink] = useState<SlackLink | null>(null);
  const make = () => attempt("No command was made", async () => setLink(await api.post("/api/v1/users/me/slack", {})));
  const end = async () => {
    setLink(null);
    await onChanged();
  };
  return (
    <div class="card-panel">
      <h3>Slack</h3>
      {link === null ? (
        <>
          <p class="muted">Decisions arrive as direct messages with buttons, once an admin has connected Slack.</p>
          <button type="button" class="small" onClick={make}>
            Link your Slack user
          </button>
        </>
      ) : (
        <>
          <p>
            Send this in Slack, in any conversation: only the app sees it. It works once, and expires{" "}
            <Time at={link.expires_at} />.
          </p>
          <Snippet label="Command" text={link.command} />
          <button type="button" class="small" onClick={end}>
            I have sent it
          </button>
        </>
      )}
    </div>
  );
}
