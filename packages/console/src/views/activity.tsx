import { useState } from "preact/hooks";
import { api, isStatus } from "../api.ts";
import { useResource } from "../resource.ts";
import { toBoard, toTask } from "../route.ts";
import { boardName, boards, isAdmin } from "../session.ts";
import { Empty, Loading, Problem } from "../ui/parts.tsx";
import { optionOf, Select } from "../ui/select.tsx";
import { Time } from "../ui/time.tsx";

interface Entry {
  id: string;
  at: string;
  text: string;
  isFailure: boolean;
  board_id: string | null;
  task_id: string | null;
  agent_id: string | null;
}

const LIMIT = 200;

/** Reads the activity log, or comments for a member who may not read the log. */
async function readEntries(signal: AbortSignal): Promise<{ entries: Entry[]; isComments: boolean }> {
  try {
    const { items } = await api.get("/api/v1/activity", { params: { query: { limit: LIMIT } }, signal });
    const entries = items.map(({ id, created_at: at, message, event_type, board_id, task_id, agent_id }) => {
      return { id, at, text: message ?? event_type, isFailure: event_type.endsWith("failed"), board_id, task_id, agent_id };
    });
    return { entries, isComments: false };
  } catch (error) {
    if (!isStatus(error, 403)) throw error;
    const { items } = await api.get("/api/v1/activity/task-comments", { params: { query: { limit: LIMIT } }, signal });
    const entries = items.map(({ id, created_at: at, message, board_id, task_id, agent_id, agent_name, task_title }) => {
      return {
        id,
        at,
        text: `${agent_name ?? "A person"} on ${task_title}: ${message}`,
        isFailure: false,
        board_id,
        task_id,
        agent_id,
      };
    });
    return { entries, isComments: true };
  }
}

const readAgents = async (signal: AbortSignal) =>
  isAdmin.value ? (await api.get("/api/v1/agents", { params: { query: { limit: LIMIT } }, signal })).items : [];

export function Activity() {
  const { data, error, reload } = useResource(readEntries, [], ({ type }) => type !== "run");
  const agents = useResource(readAgents, [], ({ type, action }) => type === "agent" && action !== "updated");
  const [board_id, setBoard] = useState("");
  const [agent_id, setAgent] = useState("");
  const entries = data?.entries.filter(
    (entry) => (!board_id || entry.board_id === board_id) && (!agent_id || entry.agent_id === agent_id),
  );
  return (
    <main class="view">
      <div class="view-intro">
        <h1>{data?.isComments ? "Comments" : "Activity"}</h1>
        <div class="filters">
          <Select
            label="Board"
            value={board_id}
            options={[["", "All boards"], ...(boards.value ?? []).map(optionOf)]}
            onChoose={setBoard}
          />
          {agents.data && agents.data.length > 0 && (
            <Select
              label="Agent"
              value={agent_id}
              options={[["", "All agents"], ...agents.data.map(optionOf)]}
              onChoose={setAgent}
            />
          )}
        </div>
      </div>
      <Problem error={error} retry={reload} />
      {!data && !error && <Loading what="the activity" />}
      {data?.entries.length === 0 && (
        <Empty title="Nothing has happened yet.">What people and agents do appears here at once.</Empty>
      )}
      {data && data.entries.length > 0 && entries?.length === 0 && (
        <Empty title="No entry matches.">Only the newest {LIMIT} entries are searched.</Empty>
      )}
      {entries && entries.length > 0 && (
        <ol class="feed">
          {entries.map((entry) => (
            <li key={entry.id}>
              <span class="muted">
                <Time at={entry.at} />
              </span>
              <p class={entry.isFailure ? "text danger-text" : "text"} dir="auto">
                {entry.text}
              </p>
              {entry.board_id && (
                <a href={entry.task_id ? toTask(entry.board_id, entry.task_id) : toBoard(entry.board_id)} dir="auto">
                  {boardName(entry.board_id)}
                </a>
              )}
            </li>
          ))}
        </ol>
      )}
    </main>
  );
}
