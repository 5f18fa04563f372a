import { Fragment } from "preact";
import { useResource } from "../resource.ts";
import type { CustomField, Task } from "../types.ts";
import { toPlain } from "../ui/plain.ts";
import { Time } from "../ui/time.tsx";
import { readTaskChoices } from "./fields.ts";

const isSet = (value: unknown): boolean => value !== null && value !== undefined && value !== "";

function Value({ field, value }: { field: CustomField; value: unknown }) {
  if (!isSet(value)) return <span class="muted">not set</span>;
  if (typeof value === "boolean") return <>{value ? "Yes" : "No"}</>;
  if (field.field_type === "date_time" && typeof value === "string") return <Time at={value} />;
  if (field.field_type === "url" && typeof value === "string" && value.startsWith("https://"))
    return (
      <a href={value} rel="noopener noreferrer nofollow" target="_blank">
        {toPlain(value)}
      </a>
    );
  return <span dir="auto">{toPlain(typeof value === "object" ? JSON.stringify(value) : String(value))}</span>;
}

/** Shows the custom fields of a task. The organization decides which fields are shown, and when. */
export function CustomValues({ task }: { task: Task }) {
  const { data } = useResource(
    (signal) => readTaskChoices(task.board_id, signal),
    [task.board_id],
    () => false,
    true,
  );
  const values: Record<string, unknown> = task.custom_field_values;
  const shown = data?.fields.filter(({ field_key, ui_visibility }) => ui_visibility === "always" || isSet(values[field_key]));
  if (!shown?.length) return null;
  return (
    <dl class="properties">
      {shown.map((field) => (
        <Fragment key={field.id}>
          <dt dir="auto">{field.label}</dt>
          <dd class="text">
            <Value field={field} value={values[field.field_key]} />
          </dd>
        </Fragment>
      ))}
    </dl>
  );
}
