import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import { isAdmin } from "../session.ts";
import type { Tag } from "../types.ts";
import { Confirm } from "../ui/confirm.tsx";
import { FormButton } from "../ui/form-button.tsx";
import type { FieldSpec, Typed } from "../ui/form.tsx";
import { List } from "../ui/list.tsx";
import { textOf, textOrNull } from "../ui/values.ts";

const LIMIT = 200;
const ITEM = "/api/v1/tags/{tag_id}";

const FIELDS: readonly FieldSpec[] = [
  { name: "name", label: "Name" },
  { name: "color", label: "Colour", kind: "color", short: true },
  { name: "slug", label: "Short name in addresses", placeholder: "made of the name", short: true },
  { name: "description", label: "Description", kind: "long", rows: 2 },
];
const NEW: Typed = { name: "", color: "#5b5bd6", slug: "", description: "" };

const toTyped = ({ name, color, slug, description }: Tag): Typed => ({
  name,
  color: `#${color}`,
  slug,
  description: description ?? "",
});
const toBody = (typed: Typed) => ({
  ...("name" in typed ? { name: textOf(typed, "name") } : {}),
  ...("color" in typed ? { color: textOf(typed, "color").replace("#", "") } : {}),
  ...("slug" in typed && textOf(typed, "slug") ? { slug: textOf(typed, "slug") } : {}),
  ...("description" in typed ? { description: textOrNull(typed, "description") } : {}),
});

function Row({ tag, onChanged }: { tag: Tag; onChanged: () => void }) {
  const params = { path: { tag_id: tag.id } };
  return (
    <div class="row">
      <svg class="swatch" viewBox="0 0 8 8" aria-hidden="true">
        <circle cx="4" cy="4" r="4" fill={`#${tag.color}`} />
      </svg>
      <div class="grow">
        <span class="row-head">
          <strong dir="auto">{tag.name}</strong>
          <span class="badge">{tag.task_count === 1 ? "1 task" : `${tag.task_count} tasks`}</span>
        </span>
        {tag.description && (
          <span class="muted" dir="auto">
            {tag.description}
          </span>
        )}
      </div>
      {isAdmin.value && (
        <div class="actions">
          <FormButton
            title="Change"
            about={`Change the tag ${tag.name}`}
            heading="Change the tag"
            name={`tag.${tag.id}`}
            fields={FIELDS}
            start={toTyped(tag)}
            label="Save"
            submit={(_typed, changed) => api.patch(ITEM, { params, body: toBody(changed) })}
            onDone={onChanged}
          />
          <Confirm
            label="Remove"
            question="It disappears from its tasks."
            confirm="Remove the tag"
            failure="The tag was not removed"
            act={() => api.delete(ITEM, { params })}
            onDone={onChanged}
          />
        </div>
      )}
    </div>
  );
}

export function Tags() {
  const read = (signal: AbortSignal) => api.get("/api/v1/tags", { params: { query: { limit: LIMIT } }, signal });
  const from = useResource(read, [], () => false);
  return (
    <section>
      <div class="view-intro">
        <h2>Tags</h2>
        {isAdmin.value && (
          <FormButton
            title="New tag"
            isPrimary
            name="tag.new"
            fields={FIELDS}
            start={NEW}
            label="Create tag"
            submit={(typed) => api.post("/api/v1/tags", { body: { name: "", ...toBody(typed) } })}
            onDone={from.reload}
          />
        )}
      </div>
      <List what="the tags" from={from} empty={["There are no tags.", "Tags group tasks across boards."]}>
        {(tag) => <Row key={tag.id} tag={tag} onChanged={from.reload} />}
      </List>
    </section>
  );
}
