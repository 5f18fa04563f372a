import { useEffect } from "preact/hooks";
import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import type { SkillPack, SkillPackSync } from "../types.ts";
import { Confirm } from "../ui/confirm.tsx";
import { FormButton } from "../ui/form-button.tsx";
import type { FieldSpec, Typed } from "../ui/form.tsx";
import { List } from "../ui/list.tsx";
import { Problem } from "../ui/parts.tsx";
import { Time } from "../ui/time.tsx";
import { attempt } from "../ui/toast.tsx";
import { textOf, textOrNull } from "../ui/values.ts";
import { Progress, useWork } from "../ui/work.tsx";

const LIST = "/api/v1/skills/packs";
const ITEM = "/api/v1/skills/packs/{pack_id}";

const FIELDS: readonly FieldSpec[] = [
  { name: "source_url", label: "Repository", placeholder: "https://github.com/owner/repository" },
  { name: "name", label: "Name", placeholder: "as the repository", short: true },
  { name: "branch", label: "Branch", placeholder: "main", short: true },
  { name: "description", label: "Description", kind: "long", rows: 2 },
];

const toBody = (typed: Typed) => ({
  source_url: textOf(typed, "source_url"),
  name: textOrNull(typed, "name"),
  branch: textOrNull(typed, "branch"),
  description: textOrNull(typed, "description"),
});

const toSkills = (count: number): string => (count === 1 ? "1 skill" : `${count} skills`);

/** Shows the skill packs, which are repositories of skills. A sync adds their new skills to the marketplace. */
export function Packs() {
  const read = async (signal: AbortSignal) => ({ items: await api.get(LIST, { signal }) });
  const from = useResource(read, [], () => false);
  return (
    <section>
      <div class="view-intro">
        <h2>Packs</h2>
        <FormButton
          title="Add a pack"
          isPrimary
          name="pack.new"
          fields={FIELDS}
          start={{ source_url: "", name: "", branch: "", description: "" }}
          label="Add the pack"
          submit={(typed) => api.post(LIST, { body: toBody(typed) })}
          onDone={from.reload}
        />
      </div>
      <List what="the packs" from={from} empty={["There are no packs.", "A pack is a public repository of skills."]}>
        {(pack) => <Row key={pack.id} pack={pack} onChanged={from.reload} />}
      </List>
    </section>
  );
}

function Row({ pack, onChanged }: { pack: SkillPack; onChanged: () => Promise<void> }) {
  const params = { path: { pack_id: pack.id } };
  const { run, error, follow } = useWork<SkillPackSync>(`pack.${pack.id}`, (run_id) =>
    api.get(`${ITEM}/sync/{run_id}`, { params: { path: { pack_id: pack.id, run_id } } }),
  );
  const isOver = run !== null && run.status !== "running";
  useEffect(() => {
    if (isOver) void onChanged();
  }, [isOver]);
  const sync = async () => {
    const answer = await api.post(`${ITEM}/sync`, { params, headers: { Prefer: "respond-async" } });
    if ("run_id" in answer) follow(answer.run_id as string);
    else await onChanged();
  };
  return (
    <div class="row">
      <div class="grow">
        <span class="row-head">
          <strong dir="auto">{pack.name}</strong>
          <span class="badge">{toSkills(pack.skill_count)}</span>
          <span class="badge">{pack.branch}</span>
        </span>
        {pack.description && (
          <span class="muted" dir="auto">
            {pack.description}
          </span>
        )}
        <span class="muted">{pack.source_url}</span>
        <Problem error={error} />
        {run && <Result run={run} />}
      </div>
      <div class="actions wrap">
        <button
          type="button"
          disabled={run?.status === "running"}
          aria-label={`Sync ${pack.name}`}
          onClick={() => attempt("The sync did not begin", sync)}
        >
          Sync
        </button>
        <FormButton
          title="Change"
          about={`Change the pack ${pack.name}`}
          heading="Change the pack"
          name={`pack.${pack.id}`}
          fields={FIELDS}
          start={{ source_url: pack.source_url, name: pack.name, branch: pack.branch, description: pack.description ?? "" }}
          label="Save"
          submit={(typed) => api.patch(ITEM, { params, body: { ...toBody(typed), metadata: pack.metadata as never } })}
          onDone={onChanged}
        />
        <Confirm
          label="Remove"
          question="Its skills stay."
          confirm="Remove the pack"
          failure="The pack was not removed"
          act={() => api.delete(ITEM, { params })}
          onDone={onChanged}
        />
      </div>
    </div>
  );
}

function Result({ run: { status, synced, created, updated, warnings, error, created_at, finished_at } }: { run: SkillPackSync }) {
  if (status === "running") return <Progress label="Reading the repository …" />;
  if (status === "failed") return <Problem error={error ?? "The sync failed."} />;
  return (
    <div role="status">
      Synced <Time at={finished_at ?? created_at} />: {toSkills(synced)}, {created} new, {updated} changed.
      {warnings.map((warning) => (
        <p key={warning} class="muted" dir="auto">
          {warning}
        </p>
      ))}
    </div>
  );
}
