import { useState } from "preact/hooks";
import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import type { Gateway, Skill } from "../types.ts";
import { Confirm } from "../ui/confirm.tsx";
import { FormButton } from "../ui/form-button.tsx";
import { List } from "../ui/list.tsx";
import { Select } from "../ui/select.tsx";
import { attempt, showInfo } from "../ui/toast.tsx";
import { textOf, textOrNull } from "../ui/values.ts";

const LIMIT = 50;
const LIST = "/api/v1/skills/marketplace";

const readGateways = async (signal: AbortSignal): Promise<Gateway[]> =>
  (await api.get("/api/v1/gateways", { params: { query: { limit: LIMIT } }, signal })).items.filter(
    ({ kind }) => kind === "openclaw",
  );

/** Shows the skills that the organization knows. The main agent of a gateway installs them on its host. */
export function Marketplace() {
  const [search, setSearch] = useState("");
  const [chosen, setChosen] = useState("");
  const gateways = useResource(readGateways, [], () => false, true);
  const gateway_id = chosen || gateways.data?.[0]?.id || "";
  const query = { limit: LIMIT, ...(gateway_id ? { gateway_id } : {}), ...(search.trim() ? { search: search.trim() } : {}) };
  const read = async (signal: AbortSignal) => ({ items: await api.get(LIST, { params: { query }, signal }) });
  const from = useResource(read, [search, gateway_id], () => false);
  return (
    <section>
      <div class="view-intro">
        <div class="filters">
          <input
            type="search"
            aria-label="Search the skills"
            placeholder="Search"
            value={search}
            onInput={(event) => setSearch(event.currentTarget.value)}
          />
          {(gateways.data?.length ?? 0) > 0 && (
            <Select
              label="Install on"
              value={gateway_id}
              options={(gateways.data ?? []).map(({ id, name }) => [id, `on ${name}`] as const)}
              onChoose={setChosen}
            />
          )}
        </div>
        <FormButton
          title="Add a skill"
          name="skill.new"
          fields={[
            {
              name: "source_url",
              label: "Address of the skill",
              placeholder: "https://github.com/owner/repository/tree/main/skill",
            },
            { name: "name", label: "Name", placeholder: "as in the address" },
            { name: "description", label: "Description", kind: "long", rows: 2 },
          ]}
          start={{ source_url: "", name: "", description: "" }}
          label="Add the skill"
          submit={(typed) =>
            api.post(LIST, {
              body: {
                source_url: textOf(typed, "source_url"),
                name: textOrNull(typed, "name"),
                description: textOrNull(typed, "description"),
              },
            })
          }
          onDone={from.reload}
        />
      </div>
      {gateways.data?.length === 0 && <p class="muted">No gateway has a host, so skills can be listed, but not installed.</p>}
      <List what="the skills" from={from} empty={["No skill was found.", "A sync of a pack adds its skills."]}>
        {(skill) => <Row key={skill.id} skill={skill} gateway_id={gateway_id} onChanged={from.reload} />}
      </List>
      {from.data?.items.length === LIMIT && <p class="muted">The first {LIMIT} are shown. Search to find others.</p>}
    </section>
  );
}

function Row({ skill, gateway_id, onChanged }: { skill: Skill; gateway_id: string; onChanged: () => Promise<void> }) {
  const params = { path: { skill_id: skill.id }, query: { gateway_id } };
  const [isBusy, setBusy] = useState(false);
  const act = async () => {
    setBusy(true);
    const isDone = await attempt(
      skill.installed ? "The skill was not removed from the host" : "The skill was not installed",
      () => api.post(skill.installed ? `${LIST}/{skill_id}/uninstall` : `${LIST}/{skill_id}/install`, { params }),
    );
    setBusy(false);
    if (isDone) showInfo("The main agent of the host was asked to do it.");
    await onChanged();
  };
  return (
    <div class="row">
      <div class="grow">
        <span class="row-head">
          <strong dir="auto">{skill.name}</strong>
          {skill.installed && <span class="badge success">installed</span>}
          {skill.category && <span class="badge">{skill.category}</span>}
          {skill.risk && <span class="badge warning">risk: {skill.risk}</span>}
        </span>
        {skill.description && (
          <span class="muted" dir="auto">
            {skill.description}
          </span>
        )}
        <span class="muted">{skill.source_url}</span>
      </div>
      <div class="actions wrap">
        {gateway_id && (
          <button
            type="button"
            disabled={isBusy}
            aria-label={`${skill.installed ? "Uninstall" : "Install"} ${skill.name}`}
            onClick={act}
          >
            {skill.installed ? "Uninstall" : "Install"}
          </button>
        )}
        <Confirm
          label="Remove"
          question="It is only removed from this list."
          confirm="Remove the skill"
          failure="The skill was not removed"
          act={() => api.delete(`${LIST}/{skill_id}`, { params: { path: { skill_id: skill.id } } })}
          onDone={onChanged}
        />
      </div>
    </div>
  );
}
