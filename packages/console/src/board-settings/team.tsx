import { useState } from "preact/hooks";
import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import { toView } from "../route.ts";
import { canWrite, isAdmin } from "../session.ts";
import type { Agent, Board } from "../types.ts";
import { lazy } from "../ui/lazy.tsx";
import { List } from "../ui/list.tsx";
import { Avatar, Dialog, isPresent } from "../ui/parts.tsx";
import { Time } from "../ui/time.tsx";

const Connect = lazy("the form", async () => (await import("../views/connect.tsx")).Connect);

/** The service's default for agents without a heartbeat of their own. */
const DEFAULT_EVERY = "10m";

function everyOf({ heartbeat_config }: Agent): string {
  const every = (heartbeat_config as { every?: unknown } | null)?.every;
  return typeof every === "string" ? every : DEFAULT_EVERY;
}

/** Lists the agents of a board, its lead first, with how often each looks for work. */
export function BoardTeam({ board }: { board: Board }) {
  const { id: board_id, board_group_id } = board;
  const [isConnecting, setConnecting] = useState(false);
  const read = async (signal: AbortSignal) => {
    const { agents } = await api.get("/api/v1/boards/{board_id}/snapshot", { params: { path: { board_id } }, signal });
    return { items: agents.toSorted((one, other) => Number(other.is_board_lead) - Number(one.is_board_lead)) };
  };
  const from = useResource(read, [board_id], ({ type, board_id: of }) => type === "agent" && of === board_id, true);
  const hasNoLead = from.data?.items.every((agent) => !agent.is_board_lead);
  return (
    <section class="card-panel">
      <div class="view-intro">
        <h2>Agents</h2>
        {hasNoLead && isAdmin.value && canWrite(board_id) && (
          <button type="button" onClick={() => setConnecting(true)}>
            Connect a lead
          </button>
        )}
      </div>
      {hasNoLead && <p class="muted">This board has no lead, so people create its tasks and review what its agents hand in.</p>}
      <List what="the agents" from={from} empty={["No agent works here.", "Connect one on the page Agents."]}>
        {(agent) => (
          <div class="row" key={agent.id}>
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
                <span class={isPresent(agent) ? "badge success" : "badge"}>{agent.status}</span>
              </span>
              <span class="muted">
                {agent.last_seen_at ? (
                  <>
                    seen <Time at={agent.last_seen_at} />
                  </>
                ) : (
                  "never seen"
                )}
                , looks for work every {everyOf(agent)}
              </span>
            </div>
          </div>
        )}
      </List>
      {isAdmin.value && (
        <p class="muted">
          How often an agent looks for work is set on its page
          {board_group_id !== null && (
            <>
              , and for all agents of the group under <a href={toView("organization", "groups")}>Board groups</a>
            </>
          )}
          .
        </p>
      )}
      {isConnecting && (
        <Dialog title="Connect a lead" onClose={() => setConnecting(false)}>
          <Connect boards={[board]} isLead onConnected={from.reload} />
        </Dialog>
      )}
    </section>
  );
}
