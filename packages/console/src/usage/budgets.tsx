import { useState } from "preact/hooks";
import { useResource } from "../resource.ts";
import { boards, canWrite, isAdmin } from "../session.ts";
import type { Budget } from "../types.ts";
import { toWhole } from "../ui/figures.ts";
import { Empty, Loading, Problem } from "../ui/parts.tsx";
import { BudgetForm } from "./budget-form.tsx";
import { BudgetRow } from "./budget-row.tsx";
import { readBudgets } from "./read.ts";

/** Shows the budgets, and how much of each was spent. Members see the budgets of boards that they may change. */
export function Budgets() {
  const { data, error, reload } = useResource(readBudgets, [], () => false);
  const [form, setForm] = useState<{ budget?: Budget } | null>(null);
  const mayAdd = isAdmin.value || boards.value?.some(({ id }) => canWrite(id));
  return (
    <section>
      <div class="view-intro">
        <h2>Budgets</h2>
        {mayAdd && (
          <button type="button" onClick={() => setForm({})}>
            New budget
          </button>
        )}
      </div>
      <Problem error={error} retry={reload} />
      {!data && !error && <Loading what="the budgets" />}
      {data?.items.length === 0 && (
        <Empty title="There are no budgets.">A budget stops agents, or tells people, before too much is spent.</Empty>
      )}
      {data && data.items.length > 0 && (
        <div class="rows">
          {data.items.map((budget) => (
            <BudgetRow key={budget.id} budget={budget} onEdit={() => setForm({ budget })} onChanged={reload} />
          ))}
        </div>
      )}
      {data && data.total > data.items.length && (
        <p class="muted">{toWhole(data.total - data.items.length)} older budgets are not shown.</p>
      )}
      {form && <BudgetForm {...form} onClose={() => setForm(null)} onSaved={reload} />}
    </section>
  );
}
