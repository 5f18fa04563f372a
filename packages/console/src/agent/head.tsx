import { api } from "../api.ts";
import { go, toView } from "../route.ts";
import { boards, canWrite } from "../session.ts";
import type { Agent } from "../types.ts";
import { Confirm } from "../ui/confirm.tsx";
import { FormButton } from "../ui/form-button.tsx";
import { Avatar, isPresent } from "../ui/parts.tsx";
import { optionOf } from "../ui/select.tsx";
import { attempt, showInfo } from "../ui/toast.tsx";
import { textOf } from "../ui/values.ts";

const ITEM = "/api/v1/agents/{agent_id}";

interface Props {
  agent: Agent;
  mayChange: boolean;
  onChanged: () => Promise<void>;
}

/** Shows the agent's name and state, and the actions on it. */
export function Head({ agent, mayChange, onChanged }: Props) {
  return (
    <div class="view-intro">
      <div class="row-head">
        <Avatar name={agent.name} agent={agent} />
        <h1 dir="auto">{agent.name}</h1>
        {agent.is_board_lead && <span class="badge accent">lead</span>}
        {agent.is_gateway_main && <span class="badge">main agent</span>}
        <span class={isPresent(agent) ? "badge success" : "badge"}>{agent.status}</span>
      </div>
      {mayChange && <Actions agent={agent} onChanged={onChanged} />}
    </div>
  );
}

function Actions({ agent, onChanged }: Omit<Props, "mayChange">) {
  const params = { path: { agent_id: agent.id } };
  const others = (boards.value ?? []).filter(({ id }) => id !== agent.board_id && canWrite(id));
  const renew = () => api.patch(ITEM, { params: { ...params, query: { force: true } }, body: {} });
  return (
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
      {agent.board_id && others.length > 0 && (
        <FormButton
          title="Move"
          name={`agent.move.${agent.id}`}
          fields={[
            {
              name: "board_id",
              label: "To the board",
              kind: "choice",
              options: others.map(optionOf),
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
  );
}
