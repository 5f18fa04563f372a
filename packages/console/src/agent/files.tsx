import { useState } from "preact/hooks";
import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import type { Agent, AgentFile } from "../types.ts";
import { MarkdownFile } from "../ui/text-file.tsx";
import { toWhole } from "../ui/figures.ts";
import { Loading, Problem } from "../ui/parts.tsx";

const WRITTEN: Record<AgentFile["written"], string> = {
  always: "written at each update",
  if_missing: "the agent keeps it",
  at_first_start: "written at the first start",
  on_request: "the agent reads it from the service",
};

/** Shows the files that the service writes for an agent, with the values of its role, its board and its people filled in. */
export function AgentFiles({ agent: { id: agent_id, board_id, openclaw_session_id } }: { agent: Agent }) {
  const { data, error, reload } = useResource(
    (signal) => api.get("/api/v1/agents/{agent_id}/files", { params: { path: { agent_id } }, signal }),
    [agent_id],
    // The files name the board and all of its agents.
    ({ type, id, board_id: of }) => (type === "agent" ? of === board_id : type === "board" && id === board_id),
    true,
  );
  return (
    <section>
      <p class="muted">
        {openclaw_session_id
          ? "What the service would write to its host now. The token is left out; files that the agent keeps may differ there."
          : "What the agent reads when it begins to work."}
      </p>
      <Problem error={error} retry={reload} />
      {!data && !error && <Loading what="the files" />}
      {data?.files.map((file) => (
        <Part key={file.name} file={file} isFirst={data.files.length === 1} />
      ))}
    </section>
  );
}

/** Shows one file. It is rendered when it is opened, because an agent may have many files. */
function Part({ file: { name, content, written, truncated_fields }, isFirst }: { file: AgentFile; isFirst: boolean }) {
  const [isOpen, setOpen] = useState(isFirst);
  return (
    <details class="card-panel" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <strong>{name}</strong>{" "}
        <span class="muted">
          {WRITTEN[written]} · {toWhole(content.length)} characters
        </span>
      </summary>
      {isOpen && (
        <>
          {truncated_fields && <p class="muted">Only its beginning is shown, because all files together are too long.</p>}
          <MarkdownFile label={name} text={content} />
        </>
      )}
    </details>
  );
}
