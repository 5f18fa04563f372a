import { useState } from "preact/hooks";
import { api } from "../api.ts";
import { GroupMemory } from "../memory/group.tsx";
import { useResource } from "../resource.ts";
import { toBoard } from "../route.ts";
import { boards, isAdmin } from "../session.ts";
import type { BoardGroup } from "../types.ts";
import { Confirm } from "../ui/confirm.tsx";
import { FormButton } from "../ui/form-button.tsx";
import type { FieldSpec, Typed } from "../ui/form.tsx";
import { List } from "../ui/list.tsx";
import { showInfo } from "../ui/toast.tsx";
import { textOf, textOrNull } from "../ui/values.ts";

const LIMIT = 200;
const ITEM = "/api/v1/board-groups/{group_id}";

const FIELDS: readonly FieldSpec[] = [
  { name: "name", label: "Name" },
  { name: "description", label: "What the boards have in common", kind: "long", rows: 2 },
];

const toBody = (typed: Typed) => ({
  ...("name" in typed ? { name: textOf(typed, "name") } : {}),
  ...("description" in typed ? { description: textOrNull(typed, "description") } : {}),
});

/** Sets how often the agents of all boards of a group look for work. */
async function setHeartbeat(group_id: string, typed: Typed): Promise<void> {
  const answer = await api.post("/api/v1/board-groups/{group_id}/heartbeat", {
    params: { path: { group_id } },
    body: { every: textOf(typed, "every").trim(), include_board_leads: typed["include_board_leads"] === true },
  });
  const changed = answer.updated_agent_ids.length;
  const failed = answer.failed_agent_ids.length;
  showInfo(
    `${changed === 1 ? "1 agent was" : `${changed} agents were`} changed${failed > 0 ? `, ${failed} without a host` : ""}.`,
  );
}

function Row({ group, onChanged }: { group: BoardGroup; onChanged: () => void }) {
  const params = { path: { group_id: group.id } };
  const [isOpen, setOpen] = useState(false);
  const own = (boards.value ?? []).filter(({ board_group_id }) => board_group_id === group.id);
  return (
    <div class="row">
      <div class="grow">
        <span class="row-head">
          <strong dir="auto">{group.name}</strong>
          <span class="badge">{own.length === 1 ? "1 board" : `${own.length} boards`}</span>
        </span>
        {group.description && (
          <span class="muted" dir="auto">
            {group.description}
          </span>
        )}
        <span class="badges">
          {own.map((board) => (
            <a key={board.id} href={toBoard(board.id)} dir="auto">
              {board.name}
            </a>
          ))}
        </span>
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>Memory</summary>
          {isOpen && <GroupMemory group={group} />}
        </details>
      </div>
      {isAdmin.value && (
        <div class="actions">
          <FormButton
            title="Heartbeat"
            about={`Heartbeat of ${group.name}`}
            heading="Heartbeat of the group's agents"
            name={`group.heartbeat.${group.id}`}
            fields={[
              { name: "every", label: "Every", placeholder: "10m", hint: "A number and s, m, h or d." },
              { name: "include_board_leads", label: "Also the leads", kind: "check" },
            ]}
            start={{ every: "10m", include_board_leads: false }}
            label="Set the heartbeat"
            submit={(typed) => setHeartbeat(group.id, typed)}
          />
          <FormButton
            title="Change"
            about={`Change the group ${group.name}`}
            heading="Change the group"
            name={`group.${group.id}`}
            fields={FIELDS}
            start={{ name: group.name, description: group.description ?? "" }}
            label="Save"
            submit={(_typed, changed) => api.patch(ITEM, { params, body: toBody(changed) })}
            onDone={onChanged}
          />
          <Confirm
            label="Remove"
            question="The boards stay, without a group."
            confirm="Remove the group"
            failure="The group was not removed"
            act={() => api.delete(ITEM, { params })}
            onDone={onChanged}
          />
        </div>
      )}
    </div>
  );
}

export function Groups() {
  const read = (signal: AbortSignal) => api.get("/api/v1/board-groups", { params: { query: { limit: LIMIT } }, signal });
  const from = useResource(read, [boards.value], () => false);
  return (
    <section>
      <div class="view-intro">
        <h2>Board groups</h2>
        {isAdmin.value && (
          <FormButton
            title="New group"
            isPrimary
            name="group.new"
            fields={FIELDS}
            start={{ name: "", description: "" }}
            label="Create group"
            submit={(typed) => api.post("/api/v1/board-groups", { body: { name: "", ...toBody(typed) } })}
            onDone={from.reload}
          />
        )}
      </div>
      <List
        what="the groups"
        from={from}
        empty={["There are no groups.", "Boards of a group share a memory. A board joins one in its settings."]}
      >
        {(group) => <Row key={group.id} group={group} onChanged={from.reload} />}
      </List>
    </section>
  );
}
