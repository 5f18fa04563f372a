import { api } from "../api.ts";
import { agents, tasks } from "../board/store.ts";
import { PRIORITIES, STATUS_NAMES, type CustomField, type Tag, type Task } from "../types.ts";
import type { FieldSpec, Typed } from "../ui/form.tsx";
import { type Option, optionOf } from "../ui/select.tsx";
import { fromLocal, jsonOrNull, numberOrNull, textOf, textOrNull, toJsonText, toLocal } from "../ui/values.ts";

export interface TaskChoices {
  tags: readonly Tag[];
  fields: readonly CustomField[];
}

export const NO_CHOICES: TaskChoices = { tags: [], fields: [] };

const LIMIT = 200;
/** Only this many of the newest tasks are offered, because nobody scrolls through a longer list. */
const MAX_OFFERED = 200;
const MAX_TITLE = 80;

/** Reads what the tasks of a board may have: tags of the organization, and custom fields of the board. */
export async function readTaskChoices(board_id: string, signal: AbortSignal): Promise<TaskChoices> {
  const [tags, fields] = await Promise.all([
    api.get("/api/v1/tags", { params: { query: { limit: LIMIT } }, signal }),
    api.get("/api/v1/organizations/me/custom-fields", { signal }),
  ]);
  return {
    tags: tags.items,
    fields: fields.filter(({ board_ids, ui_visibility }) => board_ids.includes(board_id) && ui_visibility !== "hidden"),
  };
}

const nameOf = ({ field_key }: Pick<CustomField, "field_key">): string => `custom.${field_key}`;

function toSpec(field: CustomField): FieldSpec {
  const { field_type, label, description, required } = field;
  const spec = {
    name: nameOf(field),
    label: required ? `${label} (required)` : label,
    ...(description ? { hint: description } : {}),
  };
  if (field_type === "boolean")
    return {
      ...spec,
      kind: "choice",
      options: [
        ["", "not set"],
        ["true", "Yes"],
        ["false", "No"],
      ],
    };
  if (field_type === "text_long") return { ...spec, kind: "long", rows: 3 };
  if (field_type === "json") return { ...spec, kind: "long", rows: 3, placeholder: "{}" };
  if (field_type === "date") return { ...spec, kind: "date", short: true };
  if (field_type === "date_time") return { ...spec, kind: "moment", short: true };
  if (field_type === "integer" || field_type === "decimal") return { ...spec, kind: "number", short: true };
  return spec;
}

/** Returns the value of a custom field as text for its control in the form. */
function toText({ field_type }: CustomField, value: unknown): string {
  if (value === null || value === undefined) return "";
  if (field_type === "json") return toJsonText(value);
  if (field_type === "date_time" && typeof value === "string") return toLocal(value);
  return String(value);
}

/** Returns the value that is sent for a typed custom field. */
function toValue(field: CustomField, typed: Typed): unknown {
  const name = nameOf(field);
  if (field.field_type === "integer" || field.field_type === "decimal") return numberOrNull(typed, name);
  if (field.field_type === "json") return jsonOrNull(typed, name);
  if (field.field_type === "date_time") return fromLocal(textOf(typed, name));
  const text = textOrNull(typed, name);
  return field.field_type === "boolean" && text !== null ? text === "true" : text;
}

function offeredTasks(task: Task | null): Option[] {
  const own = new Set(task?.depends_on_task_ids);
  const others = [...tasks.value.values()].filter(({ id, status }) => id !== task?.id && (status !== "done" || own.has(id)));
  const newest = others.toSorted((one, other) => (one.created_at < other.created_at ? 1 : -1));
  const offered = [...newest.filter(({ id }) => own.has(id)), ...newest.filter(({ id }) => !own.has(id))];
  return offered
    .slice(0, Math.max(MAX_OFFERED, own.size))
    .map(({ id, title, status }) => [id, `${title.slice(0, MAX_TITLE)} (${STATUS_NAMES[status]})`] as const);
}

/** Returns the fields of a task. Status, priority and assignee of an existing task are not in the form, but next to its title. */
export function taskFields({ tags, fields }: TaskChoices, task: Task | null): FieldSpec[] {
  const people: FieldSpec[] = [
    {
      name: "priority",
      label: "Priority",
      kind: "choice",
      options: PRIORITIES.map((name) => [name, name] as const),
      short: true,
    },
    {
      name: "assigned_agent_id",
      label: "Assignee",
      kind: "choice",
      options: [["", "Nobody yet"], ...[...agents.value.values()].map(optionOf)],
      short: true,
    },
  ];
  const dependencies = offeredTasks(task);
  return [
    { name: "title", label: "Title" },
    { name: "description", label: "Description", kind: "long", rows: 6, hint: "You can use Markdown." },
    ...(task ? [] : people),
    { name: "due_at", label: "Due", kind: "moment", short: true },
    ...(tags.length > 0 ? [{ name: "tag_ids", label: "Tags", kind: "many" as const, options: tags.map(optionOf) }] : []),
    ...(dependencies.length > 0
      ? [{ name: "depends_on_task_ids", label: "Waits for", kind: "many" as const, options: dependencies }]
      : []),
    ...fields.map(toSpec),
  ];
}

export function toTyped({ fields }: TaskChoices, task: Task | null, description: string): Typed {
  const values: Record<string, unknown> = task?.custom_field_values ?? {};
  return {
    title: task?.title ?? "",
    description,
    ...(task ? {} : { priority: "medium", assigned_agent_id: "" }),
    due_at: toLocal(task?.due_at ?? null),
    tag_ids: task?.tag_ids ?? [],
    depends_on_task_ids: task?.depends_on_task_ids ?? [],
    ...Object.fromEntries(fields.map((field) => [nameOf(field), toText(field, values[field.field_key] ?? field.default_value)])),
  };
}

/** Returns a request body with only the fields in `typed`. */
export function toBody({ fields }: TaskChoices, typed: Typed) {
  const has = (name: string) => name in typed;
  const listOf = (name: string) => [...(typed[name] as readonly string[])];
  const custom = fields.filter((field) => has(nameOf(field))).map((field) => [field.field_key, toValue(field, typed)] as const);
  return {
    ...(has("title") ? { title: textOf(typed, "title") } : {}),
    ...(has("description") ? { description: textOrNull(typed, "description") } : {}),
    ...(has("priority") ? { priority: textOf(typed, "priority") } : {}),
    ...(has("assigned_agent_id") ? { assigned_agent_id: textOrNull(typed, "assigned_agent_id") } : {}),
    ...(has("due_at") ? { due_at: fromLocal(textOf(typed, "due_at")) } : {}),
    ...(has("tag_ids") ? { tag_ids: listOf("tag_ids") } : {}),
    ...(has("depends_on_task_ids") ? { depends_on_task_ids: listOf("depends_on_task_ids") } : {}),
    ...(custom.length > 0 ? { custom_field_values: Object.fromEntries(custom) as Record<string, never> } : {}),
  };
}
