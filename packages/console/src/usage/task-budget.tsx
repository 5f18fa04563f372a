import { useState } from "preact/hooks";
import { useResource } from "../resource.ts";
import type { Budget } from "../types.ts";
import { Problem } from "../ui/parts.tsx";
import { BudgetForm } from "./budget-form.tsx";
import { BudgetRow } from "./budget-row.tsx";
import { readTaskBudgets } from "./read.ts";
import "../styles/parts.css";
import "../styles/usage.css";

/** Shows the budget of a task to people who may change the task. */
export function TaskBudget({ task_id }: { task_id: string }) {
  const { data, error, reload } = useResource(
    (signal) => readTaskBudgets(task_id, signal),
    [task_id],
    (change) => change.type === "task" && change.id === task_id,
    true,
  );
  const [form, setForm] = useState<{ budget?: Budget } | null>(null);
  return (
    <section>
      <h3>Budget</h3>
      <Problem error={error} retry={reload} />
      {data?.items.map((budget) => (
        <BudgetRow key={budget.id} budget={budget} onEdit={() => setForm({ budget })} onChanged={reload} />
      ))}
      {data?.items.length === 0 && (
        <p>
          <button type="button" onClick={() => setForm({})}>
            Limit what this task may spend
          </button>
        </p>
      )}
      {form && (
        <BudgetForm {...form} place={{ scope: "task", scope_id: task_id }} onClose={() => setForm(null)} onSaved={reload} />
      )}
    </section>
  );
}
