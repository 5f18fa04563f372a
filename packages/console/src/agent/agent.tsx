import { useState } from "preact/hooks";
import { api } from "../api.ts";
import { SessionDialog } from "../gateway/sessions.tsx";
import { useResource } from "../resource.ts";
import { go, toBoard, toView } from "../route.ts";
import { boardName, boards, canWrite } from "../session.ts";
import type { Agent } from "../types.ts";
import { Confirm } from "../ui/confirm.tsx";
import { Form } from "../ui/form.tsx";
import { FormButton } from "../ui/form-dialog.tsx";
import { Avatar, isPresent, Loading, Problem } from "../ui/parts.tsx";
import { Time } from "../ui/time.tsx";
import { attempt, showInfo } from "../ui/toast.tsx";
import { textOf } from "../ui/values.ts";
import { FIELDS, toBody, toTyped } from "./fields.ts";
import { AgentRuns } from "./runs.tsx";

const ITEM = "/api/v1/agents/{agent_id}";

/** Shows one agent: who it is, how it works, and what it did. */
export function AgentPage({ agent_id }: { agent_id: string }) {
  const params = { path: { agent_id } };
  const isOwn = ({ type, id }: { type: string; id: string }) => type === "agent" && id === agent_id;
  const { data: agent, error, reload } = useResource((signal) => api.get(ITEM, { params, signal }), [agent_id], isOwn);
  return (
    <main class="view">
      <a href={toView("agents")}>All agents</a>
      <Problem error={error} retry={reload} />
      {!agent && !error && <Loading what="the agent" />}
      {agent && (
        <>
          <Head agent={agent} onChanged={reload} />
          <Details agent={agent} />
          {agent.board_id && <AgentRuns agent_id={agent_id} board_id={agent.board_id} />}
          {agent.board_id && canWrite(agent.board_id) && <Settings agent={agent} onSaved={reload} />}
        </>
      )}
    </main>
  );
}

function Head({ agent, onChanged }: { agent: Agent; onChanged: () => Promise<void> }) {
  const params = { path: { agent_id: agent.id } };
  const mayChange = agent.board_id !== null && canWrite(agent.board_id);
  const others = (boards.value ?? []).filter(({ id }) => id !== agent.board_id && canWrite(id));
  const renew = () => api.patch(ITEM, { params: { ...params, query: { force: true } }, body: {} });
  return (
    <div class="view-intro">
      <div class="row-head">
        <Avatar name={agent.name} agent={agent} />
        <h1 dir="auto">{agent.name}</h1>
        {agent.is_board_lead && <span class="badge accent">lead</span>}
        {agent.is_gateway_main && <span class="badge">main agent</span>}
        <span class={isPresent(agent) ? "badge success" : "badge"}>{agent.status}</span>
      </div>
      {mayChange && (
        <div class="actions wrap">
          {agent.openclaw_session_id && (
            <button
              type="button"
              onClick={async () => {
                if (await attempt("The agent was not woken", renew)) showInfo("Its files are written again, and it is woken.");
              }}
            >
              Write files and wake
            </button>
          )}
          {others.length > 0 && (
            <FormButton
              title="Move"
              name={`agent.move.${agent.id}`}
              fields={[
                {
                  name: "board_id",
                  label: "To the board",
                  kind: "choice",
                  options: others.map(({ id, name }) => [id, name] as const),
                  hint: "Its tasks here lose their assignee, and it is no lead there.",
                },
              ]}
              start={{ board_id: others[0]!.id }}
              label="Move the agent"
              submit={(typed) => api.patch(ITEM, { params, body: { board_id: textOf(typed, "board_id") } })}
              onDone={onChanged}
            />
          )}
          <Confirm
            label="Remove"
            question="Its tasks lose their assignee, and its token stops working."
            confirm="Remove the agent"
            failure="The agent was not removed"
            act={() => api.delete(ITEM, { params })}
            onDone={() => go(toView("agents"))}
          />
        </div>
      )}
    </div>
  );
}

function Details({ agent }: { agent: Agent }) {
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
      <dd>{session_id ? "A sync of its gateway can give it a new one." : "Shown once, when the agent was made."}</dd>
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
