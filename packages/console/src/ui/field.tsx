import { ApiError } from "@board/client/error";
import type { ComponentChildren } from "preact";
import { messageOf } from "../api.ts";

/** The problems of a refusal: by field, such as `limit.cost_usd`, and those that belong to no field of the form. */
export interface Refusal {
  fields: ReadonlyMap<string, string>;
  rest: string | null;
}

export const NO_REFUSAL: Refusal = { fields: new Map(), rest: null };

/** Finds the fields that a refusal names. Problems of other fields are joined to one text. */
export function refusalOf(error: unknown, shown: readonly string[]): Refusal {
  const problems =
    error instanceof ApiError && Array.isArray(error.detail) ? (error.detail as { loc?: unknown[]; msg?: string }[]) : null;
  if (!problems) return { fields: new Map(), rest: messageOf(error) };
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

interface FieldProps {
  name: string;
  label: string;
  refusal: Refusal;
  children: (attributes: { id: string; "aria-describedby"?: string; "aria-invalid"?: true }) => ComponentChildren;
}

/** A field with the service's refusal below it. */
export function Field({ name, label, refusal, children }: FieldProps) {
  const problem = refusal.fields.get(name);
  const id = `field-${name}`;
  const described = { "aria-describedby": `${id}-problem`, "aria-invalid": true } as const;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, ...(problem === undefined ? {} : described) })}
      {problem !== undefined && (
        <span class="danger-text" id={`${id}-problem`} role="alert">
          {problem}
        </span>
      )}
    </div>
  );
}
