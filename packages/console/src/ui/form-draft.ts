import { useState } from "preact/hooks";
import { readDraft, useDraft } from "../draft.ts";
import { NO_REFUSAL, type Refusal } from "./field.tsx";
import type { FieldSpec, Typed, Value } from "./input.tsx";

export const isSame = (one: Value | undefined, other: Value | undefined) => JSON.stringify(one) === JSON.stringify(other);

/** Thrown if somebody else changed fields after the person began to type into them. */
export class ChangedError extends Error {
  /** The present values of these fields. */
  readonly values: Typed;

  constructor(values: Typed) {
    super("Another person changed this meanwhile.");
    this.values = values;
  }
}

const MAX_SHOWN = 200;

/** Returns a value as the form shows it, such as the label of an option. */
function toText({ options = [] }: FieldSpec, value: Value): string {
  const labelOf = (key: string) => options.find(([candidate]) => candidate === key)?.[1] ?? key;
  if (typeof value === "boolean") return value ? "on" : "off";
  const text = typeof value === "string" ? labelOf(value) : value.map(labelOf).join(", ");
  return text ? `“${text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text}”` : "empty";
}

/** Returns the values that others have written as problems of their fields, so that the person sees both texts and decides. */
export function refusalOfChange({ values, message }: ChangedError, fields: readonly FieldSpec[]): Refusal {
  const found = fields.filter(({ name }) => name in values);
  if (found.length === 0) return { ...NO_REFUSAL, rest: message };
  const textOf = (field: FieldSpec) =>
    `Somebody else made this ${toText(field, values[field.name]!)} meanwhile. Send again to replace it.`;
  return { fields: new Map(found.map((field) => [field.name, textOf(field)])), rest: null };
}

const parse = (draft: string): Typed => (draft ? (JSON.parse(draft) as Typed) : {});
const write = (values: Typed): string => (Object.keys(values).length > 0 ? JSON.stringify(values) : "");

/** Stores what was typed into a form, and the values before that. Both survive a reload, except for secrets. */
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
    /** Takes `values`, which somebody else stored meanwhile, as the state before typing. Sending the form again overwrites them. */
    accept: (values: Typed) => setBase(write({ ...before, ...values })),
    clear: () => {
      setDraft("");
      setBase("");
      setSecrets({});
    },
    /** Forgets what was sent. What was typed while it was on its way is kept. */
    forgetSent: (sent: Typed) => {
      const now = Object.entries(parse(readDraft(`form.${name}`)));
      setDraft(write(Object.fromEntries(now.filter(([field, value]) => !isSame(sent[field], value)))));
      setBase("");
      setSecrets({});
    },
  };
}
