import { useState } from "preact/hooks";
import { toBoard, toTask } from "../route.ts";
import type { Budget } from "../types.ts";
import { toDollars, toShort, toWhole } from "../ui/figures.ts";
import { Time } from "../ui/time.tsx";
import { attempt } from "../ui/toast.tsx";
import { readBudget, removeBudget } from "./read.ts";
import { scopeName } from "./scope.ts";

const STATES: Record<Budget["state"], readonly [look: string, text: string]> = {
  ok: ["success", "ok"],
  warned: ["warning", "almost spent"],
  exhausted: ["danger", "spent"],
};
const PERIODS: Record<Budget["period"], string> = { day: "each day", month: "each month", total: "in total" };

function Scope({ budget, name }: { budget: Budget; name: string }) {
  const { scope, scope_id, board_id } = budget;
  if (scope === "board") return <a href={toBoard(scope_id)}>{name}</a>;
  if (scope === "task" && board_id) return <a href={toTask(board_id, scope_id)}>{name}</a>;
  return <strong>{name}</strong>;
}

interface RowProps {
  budget: Budget;
  onEdit: () => void;
  onChanged: () => void;
}

export function BudgetRow({ budget, onEdit, onChanged }: RowProps) {
  const { limit, spent, reserved, scope, period, on_limit, state, resets_at } = budget;
  const [look, text] = STATES[state];
  return (
    <div class="row budget">
      <div class="grow">
        <span class="row-head" dir="auto">
          <Scope budget={budget} name={scopeName(budget)} />
          <span class="muted">{scope === "organization" ? "" : scope}</span>
          <span class={`badge ${look}`}>{text}</span>
          <span class="muted">
            {PERIODS[period]}, {on_limit === "stop" ? "stops" : "only warns"}
            {resets_at && (
              <>
                , begins again <Time at={resets_at} />
              </>
            )}
          </span>
        </span>
        {limit.cost_usd !== null && (
          <Bar
            what="Cost"
            spent={Number(spent.cost_usd)}
            reserved={Number(reserved.cost_usd)}
            limit={Number(limit.cost_usd)}
            format={(value) => toDollars(String(value))}
            budget={budget}
          />
        )}
        {limit.total_tokens !== null && (
          <Bar
            what="Tokens"
            spent={spent.total_tokens}
            reserved={reserved.total_tokens}
            limit={limit.total_tokens}
            format={toShort}
            budget={budget}
          />
        )}
        {limit.runs !== null && (
          <Bar what="Runs" spent={spent.runs} reserved={0} limit={limit.runs} format={toWhole} budget={budget} />
        )}
      </div>
      <Actions budget={budget} onEdit={onEdit} onChanged={onChanged} />
    </div>
  );
}

interface BarProps {
  what: string;
  spent: number;
  reserved: number;
  limit: number;
  format: (value: number) => string;
  budget: Budget;
}

const WIDTH = 100;

function Bar({ what, spent, reserved, limit, format, budget }: BarProps) {
  const width = (value: number) => (limit > 0 ? Math.min(WIDTH, (value / limit) * WIDTH) : WIDTH);
  const text = `${format(spent)} of ${format(limit)}${reserved > 0 ? `, ${format(reserved)} set aside` : ""}`;
  return (
    <div class="budget-bar">
      <span class="muted">{what}</span>
      <svg viewBox={`0 0 ${WIDTH} 8`} preserveAspectRatio="none" class={budget.state} aria-hidden="true">
        <rect class="limit" width={WIDTH} height={8} />
        <rect class="reserved" width={width(spent + reserved)} height={8} />
        <rect class="spent" width={width(spent)} height={8} />
        <rect class="warn" x={budget.warn_at * WIDTH} width={0.5} height={8} />
      </svg>
      <span>{text}</span>
    </div>
  );
}

/** Shows the actions on a budget. Removing it takes two clicks, because agents may then spend without this limit. */
function Actions({ budget, onEdit, onChanged }: RowProps) {
  const [isAsking, setAsking] = useState(false);
  const remove = async () => {
    const act = async () => removeBudget(budget.id, (await readBudget(budget.id)).tag);
    if (await attempt("The budget was not removed", act)) onChanged();
    setAsking(false);
  };
  if (isAsking)
    return (
      <div class="actions">
        <button type="button" class="danger" onClick={remove}>
          Remove the budget
        </button>
        <button type="button" onClick={() => setAsking(false)}>
          Keep it
        </button>
      </div>
    );
  return (
    <div class="actions">
      <button type="button" onClick={onEdit}>
        Change
      </button>
      <button type="button" class="plain danger-text" onClick={() => setAsking(true)}>
        Remove
      </button>
    </div>
  );
}
