import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import { boardName, boards, isAdmin } from "../session.ts";
import type { CustomField } from "../types.ts";
import { Confirm } from "../ui/confirm.tsx";
import { FormButton } from "../ui/form-button.tsx";
import type { FieldSpec, Typed } from "../ui/form.tsx";
import { List } from "../ui/list.tsx";
import { optionOf } from "../ui/select.tsx";
import { jsonOrNull, textOf, textOrNull, toJsonText } from "../ui/values.ts";

const LIST = "/api/v1/organizations/me/custom-fields";
const ITEM = `${LIST}/{field_id}` as const;

const TYPE_NAMES: Record<CustomField["field_type"], string> = {
  text: "Text",
  text_long: "Long text",
  integer: "Whole number",
  decimal: "Decimal number",
  boolean: "Yes or no",
  date: "Date",
  date_time: "Date and time",
  url: "Web address",
  json: "JSON",
};
const VISIBILITY_NAMES: Record<CustomField["ui_visibility"], string> = {
  always: "always",
  if_set: "when it has a value",
  hidden: "never",
};

const fieldsOf = (isNew: boolean): FieldSpec[] => [
  ...(isNew
    ? [{ name: "field_key", label: "Key in the API", placeholder: "customer_id", hint: "Cannot be changed later." }]
    : []),
  { name: "label", label: "Label", placeholder: isNew ? "the key" : "" },
  { name: "field_type", label: "Type", kind: "choice", options: Object.entries(TYPE_NAMES), short: true },
  { name: "ui_visibility", label: "Shown", kind: "choice", options: Object.entries(VISIBILITY_NAMES), short: true },
  { name: "board_ids", label: "Boards", kind: "many", options: (boards.value ?? []).map(optionOf) },
  { name: "required", label: "Every task needs a value", kind: "check" },
  { name: "default_value", label: "Value of tasks without one, as JSON", placeholder: 'none, or such as "north"' },
  { name: "validation_regex", label: "Pattern that texts must match", placeholder: "none" },
  { name: "description", label: "Description", kind: "long", rows: 2 },
];

const NEW: Typed = {
  field_key: "",
  label: "",
  field_type: "text",
  ui_visibility: "always",
  board_ids: [],
  required: false,
  default_value: "",
  validation_regex: "",
  description: "",
};

const toTyped = (field: CustomField): Typed => ({
  label: field.label,
  field_type: field.field_type,
  ui_visibility: field.ui_visibility,
  board_ids: field.board_ids,
  required: field.required,
  default_value: field.default_value === null ? "" : toJsonText(field.default_value),
  validation_regex: field.validation_regex ?? "",
  description: field.description ?? "",
});

/** Returns a request body with only the fields in `typed`. */
function toBody(typed: Typed) {
  const has = (name: string) => name in typed;
  return {
    ...(has("label") && textOf(typed, "label").trim() ? { label: textOf(typed, "label") } : {}),
    ...(has("field_type") ? { field_type: textOf(typed, "field_type") as CustomField["field_type"] } : {}),
    ...(has("ui_visibility") ? { ui_visibility: textOf(typed, "ui_visibility") as CustomField["ui_visibility"] } : {}),
    ...(has("board_ids") ? { board_ids: [...(typed["board_ids"] as readonly string[])] } : {}),
    ...(has("required") ? { required: typed["required"] === true } : {}),
    ...(has("default_value") ? { default_value: jsonOrNull<never>(typed, "default_value") } : {}),
    ...(has("validation_regex") ? { validation_regex: textOrNull(typed, "validation_regex") } : {}),
    ...(has("description") ? { description: textOrNull(typed, "description") } : {}),
  };
}

function Row({ field, onChanged }: { field: CustomField; onChanged: () => void }) {
  const params = { path: { field_id: field.id } };
  return (
    <div class="row">
      <div class="grow">
        <span class="row-head">
          <strong dir="auto">{field.label}</strong>
          <code>{field.field_key}</code>
          <span class="badge">{TYPE_NAMES[field.field_type]}</span>
          {field.required && <span class="badge accent">required</span>}
        </span>
        <span class="muted" dir="auto">
          {field.description ? `${field.description} · ` : ""}
          {field.board_ids.map(boardName).join(", ")}
        </span>
      </div>
      {isAdmin.value && (
        <div class="actions">
          <FormButton
            title="Change"
            about={`Change the field ${field.label}`}
            heading={`Change ${field.label}`}
            name={`custom-field.${field.id}`}
            fields={fieldsOf(false)}
            start={toTyped(field)}
            label="Save"
            submit={(_typed, changed) => api.patch(ITEM, { params, body: toBody(changed) })}
            onDone={onChanged}
          />
          <Confirm
            label="Remove"
            question="Only a field without values on tasks can be removed."
            confirm="Remove the field"
            failure="The field was not removed"
            act={() => api.delete(ITEM, { params })}
            onDone={onChanged}
          />
        </div>
      )}
    </div>
  );
}

export function CustomFields() {
  const read = async (signal: AbortSignal) => ({ items: await api.get(LIST, { signal }) });
  const from = useResource(read, [], () => false);
  const create = (typed: Typed) =>
    api.post(LIST, { body: { board_ids: [], ...toBody(typed), field_key: textOf(typed, "field_key") } });
  return (
    <section>
      <div class="view-intro">
        <h2>Custom fields</h2>
        {isAdmin.value && (
          <FormButton
            title="New field"
            isPrimary
            name="custom-field.new"
            fields={fieldsOf(true)}
            start={NEW}
            label="Create field"
            submit={create}
            onDone={from.reload}
          />
        )}
      </div>
      <List
        what="the fields"
        from={from}
        empty={["There are no custom fields.", "They add fields of your own to the tasks of chosen boards."]}
      >
        {(field) => <Row key={field.id} field={field} onChanged={from.reload} />}
      </List>
    </section>
  );
}
