import type { JSX } from "preact";
import { type Option, Select } from "./select.tsx";

export type Value = string | boolean | readonly string[];
export type Typed = Readonly<Record<string, Value>>;

/** The kind of control for a field. The value of a `secret` is never stored with the draft. */
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

export interface FieldSpec {
  name: string;
  label: string;
  kind?: FieldKind;
  /** The options of a `choice` or `many`. */
  options?: readonly Option[];
  hint?: string;
  placeholder?: string;
  /** Number of visible lines of a `long` text. */
  rows?: number;
  /** Whether the field shares a line with the next short field. */
  short?: boolean;
  isShown?: (typed: Typed) => boolean;
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

/** Shows the control of a field. */
export function Input({ field: { kind = "text", options = [], placeholder, rows = 4 }, value, attributes, onType }: InputProps) {
  if (kind === "check")
    return (
      <input {...attributes} type="checkbox" checked={value === true} onChange={(event) => onType(event.currentTarget.checked)} />
    );
  if (kind === "choice") return <Select {...attributes} value={String(value)} options={options} onChoose={onType} />;
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
