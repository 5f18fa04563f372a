import { useState } from "preact/hooks";
import { useDraft } from "../draft.ts";
import { NO_REFUSAL, type Refusal } from "./field.tsx";
import type { FieldSpec, Typed, Value } from "./input.tsx";

export const isSame = (one: Value | undefined, other: Value | undefined) => JSON.stringify(one) === JSON.stringify(other);

/** Another person changed fields after the person began to type into them. */
export class ChangedError extends Error {
  /** The values that they have now. */
  readonly values: Typed;

  constructor(values: Typed) {
    super("Another person changed this meanwhile.");
    this.values = values;
  }
}

const MAX_SHOWN = 200;

/** Words for a value, as the person would choose it. */
function toText({ options = [] }: FieldSpec, value: Value): string {
  const labelOf = (key: string) => options.find(([candidate]) => candidate === key)?.[1] ?? key;
  if (typeof value === "boolean") return value ? "on" : "off";
  const text = typeof value === "string" ? labelOf(value) : value.map(labelOf).join(", ");
  return text ? `“${text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text}”` : "empty";
}

/** Shows what others have written at the fields, so that the person decides with both texts in sight. */
export function refusalOfChange({ values, message }: ChangedError, fields: readonly FieldSpec[]): Refusal {
  const found = fields.filter(({ name }) => name in values);
  if (found.length === 0) return { ...NO_REFUSAL, rest: message };
  const textOf = (field: FieldSpec) =>
    `Somebody else made this ${toText(field, values[field.name]!)} meanwhile. Send again to replace it.`;
  return { fields: new Map(found.map((field) => [field.name, textOf(field)])), rest: null };
}

const parse = (draft: string): Typed => (draft ? (JSON.parse(draft) as Typed) : {});
const write = (values: Typed): string => (Object.keys(values).length > 0 ? JSON.stringify(values) : "");

/** What was typed into a form, kept over a reload except for secrets, and what its fields were before that. */
export function useTyped(name: string, start: Typed) {
  const [draft, setDraft] = useDraft(`form.${name}`);
  const [base, setBase] = useDraft(`form-base.${name}`);
  const [secrets, setSecrets] = useState<Typed>({});
  const kept = parse(draft);
  const before = parse(base);

  const type = ({ name: field, kind }: FieldSpec, value: Value) => {
    if (kind === "secret") return setSecrets({ ...secrets, [field]: value });
    const { [field]: _before, ...rest } = kept;
    setDraft(write(isSame(start[field], value) ? rest : { ...rest, [field]: value }));
    if (!(field in kept)) setBase(write({ ...before, [field]: start[field] ?? "" }));
  };
  return {
    typed: { ...start, ...kept, ...secrets } as Typed,
    before,
    isTyped: draft !== "" || Object.keys(secrets).length > 0,
    type,
    /** From now on these values may be replaced. */
    accept: (values: Typed) => setBase(write({ ...before, ...values })),
    clear: () => {
      setDraft("");
      setBase("");
      setSecrets({});
    },
  };
}
