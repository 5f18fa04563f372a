import { useState } from "preact/hooks";
import { api, isStatus } from "../api.ts";
import { useResource } from "../resource.ts";
import { toBoard, toTask, toView } from "../route.ts";
import { boardName, boards, canWrite, isAdmin } from "../session.ts";
import type { ActivityEvent, Agent } from "../types.ts";
import { List } from "../ui/list.tsx";
import { Avatar, Dialog, isPresent } from "../ui/parts.tsx";
import { Time } from "../ui/time.tsx";
import { readEachBoard } from "./boards.ts";
import { Connect } from "./connect.tsx";

const LIMIT = 200;
/** Types of events that record that the service or another agent sent a message to an agent. */
const TOLD = /notified$|^agent\.(nudge|wakeup)\.sent$|^task\.assigned$|^task\.assignee_woken$/;

interface Roster {
  items: Agent[];
  tasks: Map<string, { id: string; board_id: string; title: string }>;
  told: Map<string, ActivityEvent>;
}

async function readRoster(signal: AbortSignal): Promise<Roster> {
  const [items, work, events] = await Promise.all([
    isAdmin.value
      ? api.get("/api/v1/agents", { params: { query: { limit: LIMIT } }, signal }).then(({ items }) => items)
      : readEachBoard(async (board_id) => {
          const { agents: items } = await api.get("/api/v1/boards/{board_id}/snapshot", {
            params: { path: { board_id } },
            signal,
          });
          return { items };
        }),
    readEachBoard((board_id) =>
      api.get("/api/v1/boards/{board_id}/tasks", {
        params: { path: { board_id }, query: { status: "in_progress", limit: LIMIT } },
        signal,
      }),
    ),
    readEvents(signal),
  ]);
  const told = new Map<string, ActivityEvent>();
  for (const event of events)
    if (event.agent_id && TOLD.test(event.event_type) && !told.has(event.agent_id)) told.set(event.agent_id, event);
  return { items, tasks: new Map(work.map((task) => [task.assigned_agent_id ?? "", task])), told };
}

async function readEvents(signal: AbortSignal): Promise<ActivityEvent[]> {
  try {
    return (await api.get("/api/v1/activity", { params: { query: { limit: LIMIT } }, signal })).items;
  } catch (error) {
    if (isStatus(error, 403)) return [];
    throw error;
  }
}

function Row({ agent, roster }: { agent: Agent; roster: Roster }) {
  const task = roster.tasks.get(agent.id);
  const told = roster.told.get(agent.id);
  return (
    <div class="row">
      <Avatar name={agent.name} agent={agent} />
      <div class="grow">
        <span class="row-head">
          {isAdmin.value ? (
            <a href={toView("agents", agent.id)} dir="auto">
              {agent.name}
            </a>
          ) : (
            <strong dir="auto">{agent.name}</strong>
          )}
          {agent.is_board_lead && <span class="badge accent">lead</span>}
          {agent.is_gateway_main && <span class="badge">main agent</span>}
          <span class={isPresent(agent) ? "badge success" : "badge"}>{agent.status}</span>
          <span class="muted">{agent.last_seen_at ? <Time at={agent.last_seen_at} /> : "never seen"}</span>
        </span>
        <span class="muted">
          {agent.board_id && (
            <>
              <a href={toBoard(agent.board_id)}>{boardName(agent.board_id)}</a>
              {" · "}
            </>
          )}
          {task ? (
            <>
              {"works on "}
              <a href={toTask(task.board_id, task.id)} dir="auto">
                {task.title}
              </a>
            </>
          ) : (
            "no task in progress"
          )}
        </span>
        {told && (
          <span class="muted" dir="auto">
            Told <Time at={told.created_at} />: {told.message}
          </span>
        )}
        {agent.last_provision_error && (
          <span class="danger-text text" dir="auto">
            {agent.last_provision_error}
          </span>
        )}
      </div>
    </div>
  );
}

export function Agents() {
  const from = useResource(readRoster, [boards.value?.length], ({ type }) => type === "agent" || type === "task");
  const [isConnecting, setConnecting] = useState(false);
  const writable = boards.value?.filter((board) => canWrite(board.id)) ?? [];
  const mayConnect = isAdmin.value && writable.length > 0;
  return (
    <main class="view">
      <div class="view-intro">
        <h1>Agents</h1>
        {mayConnect && (
          <button type="button" class="primary" onClick={() => setConnecting(true)}>
            Connect an agent
          </button>
        )}
      </div>
      <List
        what="the agents"
        from={from}
        empty={[
          "There are no agents yet.",
          mayConnect ? "“Connect an agent” shows the line to copy for your client." : "An owner or admin connects them.",
        ]}
      >
        {(agent) => <Row key={agent.id} agent={agent} roster={from.data!} />}
      </List>
      {isConnecting && (
        <Dialog title="Connect an agent" onClose={() => setConnecting(false)}>
          <Connect boards={writable} onConnected={from.reload} />
        </Dialog>
      )}
    </main>
  );
}
