import { type Status, STATUS_NAMES, type Task } from "../types.ts";
import { usePortions } from "../ui/portions.ts";
import { Card } from "./card.tsx";
import { agents, arrived, blockersOf } from "./store.ts";

const PORTION = 30;

const EMPTY_TEXTS: Record<Status, string> = {
  inbox: "No work waits here.",
  in_progress: "Nobody works on a task.",
  blocked: "Nothing is blocked.",
  review: "Nothing waits for review.",
  done: "Nothing is done yet.",
};

export function Column({ status, tasks }: { status: Status; tasks: readonly Task[] }) {
  const { shown, hasMore, end } = usePortions<HTMLLIElement>(tasks.length, PORTION);
  return (
    <section
      class={tasks.length > 0 ? "column" : "column is-empty"}
      data-status={status}
      aria-label={`${STATUS_NAMES[status]}, ${tasks.length} tasks`}
    >
      <h2 class="column-head">
        <span class={`status-dot ${status}`} aria-hidden="true" />
        {STATUS_NAMES[status]}
        <span class="count">{tasks.length}</span>
      </h2>
      {/* The keyboard can scroll the column even when it has no card to focus. */}
      <ol class="cards" tabIndex={-1}>
        {tasks.slice(0, shown).map((task) => (
          <li key={task.id}>
            <Card
              task={task}
              agent={task.assigned_agent_id === null ? undefined : agents.value.get(task.assigned_agent_id)}
              submitter={task.submitted_by_agent_id === null ? undefined : agents.value.get(task.submitted_by_agent_id)?.name}
              blockers={blockersOf(task).length}
              isNew={arrived.value.has(task.id)}
            />
          </li>
        ))}
        {hasMore && <li ref={end} class="more" aria-hidden="true" />}
        {tasks.length === 0 && <li class="column-empty muted">{EMPTY_TEXTS[status]}</li>}
      </ol>
    </section>
  );
}
