import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import { toView } from "../route.ts";
import { isAdmin } from "../session.ts";
import { List } from "../ui/list.tsx";
import { Avatar, isPresent } from "../ui/parts.tsx";
import { Time } from "../ui/time.tsx";

/** Lists the agents of a board, its lead first. */
export function BoardTeam({ board_id }: { board_id: string }) {
  const read = async (signal: AbortSignal) => {
    const { agents } = await api.get("/api/v1/boards/{board_id}/snapshot", { params: { path: { board_id } }, signal });
    return { items: agents.toSorted((one, other) => Number(other.is_board_lead) - Number(one.is_board_lead)) };
  };
  const from = useResource(read, [board_id], ({ type, board_id: of }) => type === "agent" && of === board_id, true);
  return (
    <section class="card-panel">
      <h2>Agents</h2>
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
              <span class="muted">{agent.last_seen_at ? <Time at={agent.last_seen_at} /> : "never seen"}</span>
            </div>
          </div>
        )}
      </List>
    </section>
  );
}
