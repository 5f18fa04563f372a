import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { useDraft } from "../draft.ts";
import { Field, NO_REFUSAL, type Refusal, refusalOf } from "./field.tsx";
import { Problem } from "./parts.tsx";
import "../styles/parts.css";

export type Value = string | boolean | readonly string[];
export type Typed = Readonly<Record<string, Value>>;

/** What a field looks like. A secret is never stored with the draft. */
export type FieldKind =
  | "text"
  | "long"
  | "number"
  | "check"
  | "choice"
  | "many"
  | "date"
  | "time"
  | "moment"
  | "color"
  | "secret";
export type Option = readonly [value: string, label: string];

export interface FieldSpec {
  name: string;
  label: string;
  kind?: FieldKind;
  /** What to choose from, for `choice` and `many`. */
  options?: readonly Option[];
  hint?: string;
  placeholder?: string;
  /** Lines of a long text. */
  rows?: number;
  /** Shares its line with the next short field. */
  short?: boolean;
  isShown?: (typed: Typed) => boolean;
}

interface FormProps {
  /** Names the draft, so it must be unique for what the form changes. */
  name: string;
  fields: readonly FieldSpec[];
  start: Typed;
  label: string;
  /**
   * Sends what was typed. `changed` has only the fields that differ from the start, so that changes by other people are not
   * undone.
   */
  submit: (typed: Typed, changed: Typed) => Promise<unknown>;
  onDone?: () => void;
  /** Whether the first field gets the focus, as in a window that is opened to fill it in. */
  focusFirst?: boolean;
  children?: ComponentChildren;
}

const isSame = (one: Value | undefined, other: Value | undefined) => JSON.stringify(one) === JSON.stringify(other);

/** A problem that the console itself finds in a field, such as text that is not JSON. */
export class FieldError extends Error {
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

function toRefusal(error: unknown, names: readonly string[]): Refusal {
  if (error instanceof FieldError) return { fields: new Map([[error.field, error.message]]), rest: null };
  return refusalOf(error, names);
}

/**
 * A form that the service checks. Refusals are shown at their fields, and what was typed is kept until the service has accepted
 * it.
 */
export function Form({ name, fields, start, label, submit, onDone, focusFirst, children }: FormProps) {
  const [draft, setDraft] = useDraft(`form.${name}`);
  const [secrets, setSecrets] = useState<Typed>({});
  const [refusal, setRefusal] = useState(NO_REFUSAL);
  const [isSending, setSending] = useState(false);
  const kept = draft ? (JSON.parse(draft) as Typed) : {};
  const typed: Typed = { ...start, ...kept, ...secrets };
  const shown = fields.filter(({ isShown }) => !isShown || isShown(typed));
  const isTyped = draft !== "" || Object.keys(secrets).length > 0;

  const type = ({ name: field, kind }: FieldSpec, value: Value) => {
    if (kind === "secret") return setSecrets({ ...secrets, [field]: value });
    const { [field]: _before, ...rest } = kept;
    const next = isSame(start[field], value) ? rest : { ...rest, [field]: value };
    setDraft(Object.keys(next).length > 0 ? JSON.stringify(next) : "");
  };
  const clear = () => {
    setDraft("");
    setSecrets({});
    setRefusal(NO_REFUSAL);
  };
  const send = async (event: Event) => {
    event.preventDefault();
    if (isSending) return;
    setSending(true);
    setRefusal(NO_REFUSAL);
    try {
      const changed = Object.entries(typed).filter(([field, value]) => !isSame(start[field], value));
      await submit(typed, Object.fromEntries(changed));
      clear();
      onDone?.();
    } catch (error) {
      const names = shown.map((field) => field.name);
      setRefusal(toRefusal(error, names));
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
      {children}
      <div class="form-actions">
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

interface InputProps {
  field: FieldSpec;
  value: Value;
  attributes: { id: string; "aria-describedby"?: string; "aria-invalid"?: true; autofocus?: boolean };
  onType: (value: Value) => void;
}

const TYPES = {
  date: "date",
  time: "time",
  moment: "datetime-local",
  color: "color",
  secret: "password",
  text: "text",
  number: "text",
} as const;

function Input({ field: { kind = "text", options = [], placeholder, rows = 4 }, value, attributes, onType }: InputProps) {
  if (kind === "check")
    return (
      <input {...attributes} type="checkbox" checked={value === true} onChange={(event) => onType(event.currentTarget.checked)} />
    );
  if (kind === "choice")
    return (
      <select {...attributes} value={String(value)} onChange={(event) => onType(event.currentTarget.value)}>
        {options.map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
    );
  if (kind === "many") return <Many id={attributes.id} options={options} value={value as readonly string[]} onType={onType} />;
  if (kind === "long")
    return (
      <textarea
        {...attributes}
        dir="auto"
        rows={rows}
        placeholder={placeholder}
        value={String(value)}
        onInput={(event) => onType(event.currentTarget.value)}
      />
    );
  const more = {
    ...attributes,
    ...(kind === "text" ? { dir: "auto" as const } : {}),
    ...(kind === "number" ? { inputMode: "decimal" as const } : {}),
    ...(placeholder ? { placeholder } : {}),
    autocomplete: kind === "secret" ? ("new-password" as const) : ("off" as const),
    value: String(value),
    onInput: (event: { currentTarget: HTMLInputElement }) => onType(event.currentTarget.value),
  };
  // The library's types accept an input only if its kind is known at compile time.
  return <input {...({ ...more, type: TYPES[kind] } as JSX.IntrinsicElements["input"])} />;
}

function Many({
  id,
  options,
  value,
  onType,
}: {
  id: string;
  options: readonly Option[];
  value: readonly string[];
  onType: (value: readonly string[]) => void;
}) {
  if (options.length === 0) return <p class="muted">There is nothing to choose from.</p>;
  return (
    <ul class="choices" id={id}>
      {options.map(([key, text]) => (
        <li key={key}>
          <label class="check">
            <input
              type="checkbox"
              checked={value.includes(key)}
              onChange={(event) => onType(event.currentTarget.checked ? [...value, key] : value.filter((item) => item !== key))}
            />
            <span dir="auto">{text}</span>
          </label>
        </li>
      ))}
    </ul>
  );
}
