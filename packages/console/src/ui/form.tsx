import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Field, NO_REFUSAL, type Refusal, refusalOf } from "./field.tsx";
import { ChangedError, isSame, refusalOfChange, useTyped } from "./form-draft.ts";
import { type FieldSpec, Input, type Typed } from "./input.tsx";
import { Problem } from "./parts.tsx";
import "../styles/parts.css";

export type { FieldKind, FieldSpec, Typed, Value } from "./input.tsx";

interface FormProps {
  /** The name under which the draft is stored. Forms for different objects need different names. */
  name: string;
  fields: readonly FieldSpec[];
  start: Typed;
  label: string;
  /**
   * Sends what was typed. `changed` has only the fields that differ from `start`, so that changes by others are not undone.
   * `before` has the values from when the person began to type. If `submit` finds that others have changed these values since, it
   * throws a `ChangedError`, and the form asks the person.
   */
  submit: (typed: Typed, changed: Typed, before: Typed) => Promise<unknown>;
  onDone?: () => void;
  /** Whether the first field gets the focus, as in a window that is opened to fill it in. */
  focusFirst?: boolean;
  /** Further buttons, next to the one that sends. */
  children?: ComponentChildren;
}

/** A problem that the console itself finds in a field, such as text that is not JSON. */
export class FieldError extends Error {
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

function toRefusal(error: unknown, fields: readonly FieldSpec[]): Refusal {
  if (error instanceof ChangedError) return refusalOfChange(error, fields);
  if (error instanceof FieldError) return { fields: new Map([[error.field, error.message]]), rest: null };
  return refusalOf(
    error,
    fields.map(({ name }) => name),
  );
}

/** Shows a form. Refused values are shown at their fields, and what was typed is kept until the service has accepted it. */
export function Form({ name, fields, start, label, submit, onDone, focusFirst, children }: FormProps) {
  const { typed, before, isTyped, type, accept, clear: forget, forgetSent } = useTyped(name, start);
  const [refusal, setRefusal] = useState(NO_REFUSAL);
  const [isSending, setSending] = useState(false);
  const shown = fields.filter(({ isShown }) => !isShown || isShown(typed));

  const clear = () => {
    forget();
    setRefusal(NO_REFUSAL);
  };
  const send = async (event: Event) => {
    event.preventDefault();
    if (isSending) return;
    setSending(true);
    setRefusal(NO_REFUSAL);
    try {
      const changed = Object.fromEntries(Object.entries(typed).filter(([field, value]) => !isSame(start[field], value)));
      const elsewhere = Object.keys(changed).filter((field) => field in before && !isSame(before[field], start[field]));
      if (elsewhere.length > 0) throw new ChangedError(Object.fromEntries(elsewhere.map((field) => [field, start[field]!])));
      await submit(typed, changed, { ...start, ...before });
      forgetSent(typed);
      onDone?.();
    } catch (error) {
      setRefusal(toRefusal(error, shown));
      if (error instanceof ChangedError) accept(error.values);
    } finally {
      setSending(false);
    }
  };

  return (
    <form
      class="form"
      onSubmit={send}
      onKeyDown={(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && void send(event)}
      noValidate
    >
      <Problem error={refusal.rest} />
      <div class="form-fields">
        {shown.map((field, index) => (
          <Field key={field.name} name={field.name} scope={name} label={field.label} refusal={refusal} {...layoutOf(field)}>
            {(attributes) => (
              <Input
                field={field}
                value={typed[field.name] ?? ""}
                attributes={focusFirst && index === 0 ? { ...attributes, autofocus: true } : attributes}
                onType={(value) => type(field, value)}
              />
            )}
          </Field>
        ))}
      </div>
      <div class="form-actions">
        {children}
        {isTyped && (
          <button type="button" class="plain" onClick={clear}>
            Start over
          </button>
        )}
        <button type="submit" class="primary" disabled={isSending}>
          {label}
        </button>
      </div>
    </form>
  );
}

function layoutOf({ kind, hint, short }: FieldSpec) {
  const shape = kind === "check" ? ("check" as const) : kind === "many" ? ("group" as const) : ("line" as const);
  return { shape, ...(hint ? { hint } : {}), ...(short ? { short } : {}) };
}
