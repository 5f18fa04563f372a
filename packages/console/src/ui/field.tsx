import { ApiError } from "@board/client/error";
import type { ComponentChildren } from "preact";
import { messageOf } from "../api.ts";
import "../styles/parts.css";

/** Why a request was refused: problems of fields by the field's name, such as `limit.cost_usd`, and all others in `rest`. */
export interface Refusal {
  fields: ReadonlyMap<string, string>;
  rest: string | null;
}

export const NO_REFUSAL: Refusal = { fields: new Map(), rest: null };

interface FieldProblem {
  loc?: unknown[];
  msg?: string;
}

/** Returns the problems by field. The service names a custom field by its key alone, while the forms call it `custom.<key>`. */
function problemsOf(detail: unknown): FieldProblem[] | null {
  if (Array.isArray(detail)) return detail as FieldProblem[];
  const { message, field_key, reason, missing_field_keys } = (detail ?? {}) as Record<string, unknown>;
  if (typeof field_key === "string") return [{ loc: ["body", "custom", field_key], msg: String(reason ?? message) }];
  if (Array.isArray(missing_field_keys))
    return missing_field_keys.map((key) => ({ loc: ["body", "custom", String(key)], msg: String(message) }));
  return null;
}

/** Finds the fields that a refusal names. Problems of other fields are joined into one text. */
export function refusalOf(error: unknown, shown: readonly string[]): Refusal {
  const problems = error instanceof ApiError ? problemsOf(error.detail) : null;
  if (!problems) return atField(messageOf(error), shown);
  const fields = new Map<string, string>();
  const rest: string[] = [];
  for (const { loc = [], msg = "" } of problems) {
    const name = loc.slice(1).join(".");
    const field = shown.find((candidate) => candidate === name) ?? shown.find((candidate) => candidate.startsWith(`${name}.`));
    if (field && !fields.has(field)) fields.set(field, msg);
    else rest.push(name ? `${name}: ${msg}` : msg);
  }
  return { fields, rest: rest.join(" ") || null };
}

/** Assigns a message that begins with the name of a field, such as `expires_at must be …`, to that field. */
function atField(message: string, shown: readonly string[]): Refusal {
  const field = shown.find((name) => message.startsWith(`${name} `));
  return field ? { fields: new Map([[field, message]]), rest: null } : { fields: new Map(), rest: message };
}

interface FieldProps {
  name: string;
  label: string;
  refusal: Refusal;
  /** Distinguishes fields of the same name when a page has several forms. */
  scope?: string;
  hint?: string;
  shape?: "line" | "check" | "group";
  short?: boolean;
  children: (attributes: { id: string; "aria-describedby"?: string; "aria-invalid"?: true }) => ComponentChildren;
}

/** Shows a field with its hint, and below it the reason if the service refused its value. */
export function Field({ name, label, refusal, scope, hint, shape = "line", short, children }: FieldProps) {
  const problem = refusal.fields.get(name);
  const id = scope ? `field-${scope}-${name}` : `field-${name}`;
  const described = [...(hint ? [`${id}-hint`] : []), ...(problem === undefined ? [] : [`${id}-problem`])].join(" ");
  const attributes = {
    id,
    ...(described ? { "aria-describedby": described } : {}),
    ...(problem === undefined ? {} : ({ "aria-invalid": true } as const)),
  };
  const more = (
    <>
      {hint && (
        <span class="hint muted" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {problem !== undefined && (
        <span class="danger-text" id={`${id}-problem`} role="alert">
          {problem}
        </span>
      )}
    </>
  );
  if (shape === "group")
    return (
      <fieldset class="field" aria-describedby={described || undefined}>
        <legend>{label}</legend>
        {children(attributes)}
        {more}
      </fieldset>
    );
  return (
    <div class={`field ${shape} ${short ? "short" : ""}`}>
      <label for={id}>{label}</label>
      {children(attributes)}
      {more}
    </div>
  );
}
