import { useState } from "preact/hooks";
import { api, isStatus } from "../api.ts";
import { useDraft } from "../draft.ts";
import { useResource } from "../resource.ts";
import { boards, canWrite, isAdmin } from "../session.ts";
import type { Budget } from "../types.ts";
import { Field, NO_REFUSAL, refusalOf } from "../ui/field.tsx";
import { Dialog, Problem } from "../ui/parts.tsx";
import { optionOf } from "../ui/select.tsx";
import { Select } from "../ui/select.tsx";
import { NEW, toBody, toTyped, type Typed } from "./budget-fields.ts";
import { changeBudget, createBudget, readBudget } from "./read.ts";

const LIMIT = 200;
const CHANGED = "The budget has changed since you opened it. Nothing was saved. Save again to replace that change.";

interface Props {
  /** The budget to change. If it is missing, the form creates a budget. */
  budget?: Budget;
  /** The scope of a new budget, if the person cannot choose it. */
  place?: { scope: "task" | "agent"; scope_id: string };
  onClose: () => void;
  onSaved: () => void;
}

/** Shows the form of a budget. What was typed is kept until it is saved, even after a refusal, a reload or a sign-in. */
export function BudgetForm({ budget, place, onClose, onSaved }: Props) {
  const [draft, setDraft] = useDraft(`budget.${budget?.id ?? place?.scope_id ?? "new"}`);
  const [tag, setTag] = useState<string | null>(null);
  const [refusal, setRefusal] = useState(NO_REFUSAL);
  const [isSending, setSending] = useState(false);
  const start: Typed = budget
    ? toTyped(budget)
    : { ...NEW, ...startPlace(), ...place, ...(place?.scope === "task" ? { period: "total" } : {}) };
  // Only what was typed is kept, so that what others change meanwhile is not undone.
  const kept = draft ? (JSON.parse(draft) as Partial<Typed>) : {};
  const typed: Typed = { ...start, ...kept };
  const type = (change: Partial<Typed>) => setDraft(JSON.stringify({ ...kept, ...change }));

  const save = async (event: Event) => {
    event.preventDefault();
    setSending(true);
    setRefusal(NO_REFUSAL);
    try {
      if (budget) await changeBudget(budget.id, tag ?? (await tagOf(budget)), toBody(typed, false));
      else await createBudget(toBody(typed, true));
      setDraft("");
      onSaved();
      onClose();
    } catch (error) {
      if (budget && (error instanceof ChangedError || isStatus(error, 412))) {
        setTag(
          await readBudget(budget.id).then(
            (read) => read.tag,
            () => null,
          ),
        );
        setRefusal({ fields: new Map(), rest: CHANGED });
      } else setRefusal(refusalOf(error, Object.keys(typed)));
    } finally {
      setSending(false);
    }
  };

  const input = (name: keyof Typed, label: string, more: { inputMode?: "decimal" | "numeric"; placeholder?: string } = {}) => (
    <Field name={name} label={label} refusal={refusal}>
      {(attributes) => (
        <input {...attributes} {...more} value={typed[name]} onInput={(event) => type({ [name]: event.currentTarget.value })} />
      )}
    </Field>
  );
  const choice = (name: keyof Typed, label: string, options: readonly (readonly [value: string, label: string])[]) => (
    <Field name={name} label={label} refusal={refusal}>
      {(attributes) => (
        <Select
          {...attributes}
          value={typed[name]}
          options={options}
          onChoose={(value) => type({ [name]: value } as Partial<Typed>)}
        />
      )}
    </Field>
  );

  return (
    <Dialog title={budget ? "Change the budget" : "New budget"} onClose={onClose}>
      <form class="form budget-form" onSubmit={save} noValidate>
        <Problem error={refusal.rest} />
        {!budget && !place && <Place typed={typed} choice={choice} />}
        <div class="form-row">
          {choice("period", "Begins again", [
            ["day", "every day"],
            ["month", "every month"],
            ["total", "never"],
          ])}
          {typed.period !== "total" && input("timezone", "Time zone")}
        </div>
        <fieldset>
          <legend>At most</legend>
          {input("limit.cost_usd", "US dollars", { inputMode: "decimal", placeholder: "no limit" })}
          {input("limit.total_tokens", "Tokens", { inputMode: "numeric", placeholder: "no limit" })}
          {input("limit.runs", "Runs", { inputMode: "numeric", placeholder: "no limit" })}
        </fieldset>
        <fieldset>
          <legend>Set aside for each running run</legend>
          {input("reserve.cost_usd", "US dollars", { inputMode: "decimal", placeholder: "nothing" })}
          {input("reserve.total_tokens", "Tokens", { inputMode: "numeric", placeholder: "nothing" })}
        </fieldset>
        <div class="form-row">
          {input("warn_at", "Warn at %", { inputMode: "decimal" })}
          {choice("on_limit", "When it is spent", [
            ["stop", "stop the runs"],
            ["warn", "only warn"],
          ])}
        </div>
        <div class="form-actions">
          {draft && (
            <button type="button" class="plain" onClick={() => setDraft("")}>
              Start over
            </button>
          )}
          <button type="submit" class="primary" disabled={isSending}>
            {budget ? "Save" : "Create budget"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

class ChangedError extends Error {}

/** Reads the budget's ETag when saving, because lists have no ETags. Throws if the budget differs from the one in the list. */
async function tagOf(shown: Budget): Promise<string> {
  const { budget, tag } = await readBudget(shown.id);
  if (JSON.stringify(toTyped(budget)) !== JSON.stringify(toTyped(shown))) throw new ChangedError();
  return tag;
}

function startPlace(): Pick<Typed, "scope" | "scope_id"> {
  if (isAdmin.value) return { scope: "organization", scope_id: "" };
  return { scope: "board", scope_id: boards.value?.find(({ id }) => canWrite(id))?.id ?? "" };
}

interface PlaceProps {
  typed: Typed;
  choice: (name: keyof Typed, label: string, options: readonly (readonly [string, string])[]) => preact.JSX.Element;
}

const readAgents = async (signal: AbortSignal) =>
  isAdmin.value ? (await api.get("/api/v1/agents", { params: { query: { limit: LIMIT } }, signal })).items : [];

/** Shows the choice of a budget's scope. Members choose among the boards that they may change. */
function Place({ typed, choice }: PlaceProps) {
  const agents = useResource(readAgents, [], () => false, true);
  const writable = boards.value?.filter(({ id }) => canWrite(id)) ?? [];
  const targets = (typed.scope === "agent" ? (agents.data ?? []) : writable).map(optionOf);
  return (
    <div class="form-row">
      {choice("scope", "For", [
        ...(isAdmin.value ? [["organization", "the whole organization"] as const] : []),
        ["board", "a board"],
        ...(isAdmin.value ? [["agent", "an agent"] as const] : []),
      ])}
      {typed.scope !== "organization" &&
        choice("scope_id", typed.scope === "agent" ? "Agent" : "Board", [["", "Choose"], ...targets])}
    </div>
  );
}
