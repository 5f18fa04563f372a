import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import { route, toView } from "../route.ts";
import { canWrite, isAdmin } from "../session.ts";
import type { Agent } from "../types.ts";
import { Form } from "../ui/form.tsx";
import { Loading, Problem } from "../ui/parts.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { showInfo } from "../ui/toast.tsx";
import { ScopeBudget } from "../usage/scope-budget.tsx";
import { Details } from "./details.tsx";
import { FIELDS, toBody, toTyped } from "./fields.ts";
import { AgentFiles } from "./files.tsx";
import { Head } from "./head.tsx";
import { AgentRuns } from "./runs.tsx";

const ITEM = "/api/v1/agents/{agent_id}";

/** Shows one agent: who it is, how it works, what it did, and what the service writes for it. */
export function AgentPage({ agent_id }: { agent_id: string }) {
  const params = { path: { agent_id } };
  const isOwn = ({ type, id }: { type: string; id: string }) => type === "agent" && id === agent_id;
  const { data: agent, error, reload } = useResource((signal) => api.get(ITEM, { params, signal }), [agent_id], isOwn);
  const showsFiles = route.value.path[1] === "files";
  // Owners and admins may change main agents, and the agents of boards that they may change.
  const mayChange = agent !== null && isAdmin.value && (agent.board_id === null || canWrite(agent.board_id));
  return (
    <main class="view">
      <a href={toView("agents")}>All agents</a>
      <Problem error={error} retry={reload} />
      {!agent && !error && <Loading what="the agent" />}
      {agent && (
        <>
          <Head agent={agent} mayChange={mayChange} onChanged={reload} />
          <Tabs
            label="Parts of the agent"
            tabs={[
              [toView("agents", agent_id), "Agent"],
              [toView("agents", agent_id, "files"), agent.openclaw_session_id ? "Files" : "Instructions"],
            ]}
            current={showsFiles ? toView("agents", agent_id, "files") : toView("agents", agent_id)}
          />
          {showsFiles ? (
            <AgentFiles agent={agent} />
          ) : (
            <>
              <Details agent={agent} mayChange={mayChange} onChanged={reload} />
              {mayChange && <ScopeBudget scope="agent" scope_id={agent_id} heading="h2" />}
              {agent.board_id && <AgentRuns agent_id={agent_id} board_id={agent.board_id} />}
              {mayChange && <Settings agent={agent} onSaved={reload} />}
            </>
          )}
        </>
      )}
    </main>
  );
}

function Settings({ agent, onSaved }: { agent: Agent; onSaved: () => Promise<void> }) {
  return (
    <section class="card-panel">
      <div class="view-intro">
        <h2>How it works</h2>
        <a href={toView("souls")}>Souls to copy from</a>
      </div>
      <Form
        name={`agent.${agent.id}`}
        fields={FIELDS}
        start={toTyped(agent)}
        label="Save"
        submit={(_typed, changed) => api.patch(ITEM, { params: { path: { agent_id: agent.id } }, body: toBody(agent, changed) })}
        onDone={() => {
          showInfo("The agent was changed.");
          void onSaved();
        }}
      />
    </section>
  );
}
