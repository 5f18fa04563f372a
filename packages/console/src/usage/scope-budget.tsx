import { useState } from "preact/hooks";
import { useResource } from "../resource.ts";
import type { Budget } from "../types.ts";
import { Problem } from "../ui/parts.tsx";
import { BudgetForm } from "./budget-form.tsx";
import { BudgetRow } from "./budget-row.tsx";
import { readScopeBudgets } from "./read.ts";
import "../styles/parts.css";
import "../styles/usage.css";

interface Props {
  scope: "task" | "agent";
  scope_id: string;
  heading: "h2" | "h3";
}

/** Shows the budget of a task or an agent to people who may change the budget. */
export function ScopeBudget({ scope, scope_id, heading: Heading }: Props) {
  const { data, error, reload } = useResource(
    (signal) => readScopeBudgets(scope, scope_id, signal),
    [scope, scope_id],
    (change) => change.type === scope && change.id === scope_id,
    scope === "task",
  );
  const [form, setForm] = useState<{ budget?: Budget } | null>(null);
  return (
    <section>
      <Heading>Budget</Heading>
      <Problem error={error} retry={reload} />
      {data && data.items.length > 0 && (
        <div class="rows">
          {data.items.map((budget) => (
            <BudgetRow key={budget.id} budget={budget} onEdit={() => setForm({ budget })} onChanged={reload} />
          ))}
        </div>
      )}
      {data?.items.length === 0 && (
        <p>
          <button type="button" onClick={() => setForm({})}>
            Limit what this {scope} may spend
          </button>
        </p>
      )}
      {form && <BudgetForm {...form} place={{ scope, scope_id }} onClose={() => setForm(null)} onSaved={reload} />}
    </section>
  );
}
