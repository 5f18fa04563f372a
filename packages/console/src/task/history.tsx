import { api } from "../api.ts";
import type { Change } from "../live.ts";
import { useResource } from "../resource.ts";
import { isAdmin } from "../session.ts";
import { Time } from "../ui/time.tsx";

/** The task's events are searched for in this many of the newest events of the organization. */
const LIMIT = 200;

/** The events of a task. Comments are shown in their own list. */
export function History({ task_id }: { task_id: string }) {
  const read = async (signal: AbortSignal) => {
    if (!isAdmin.value) return [];
    const { items } = await api.get("/api/v1/activity", { params: { query: { limit: LIMIT } }, signal });
    return items.filter((event) => event.task_id === task_id && event.event_type !== "task.comment");
  };
  // A run changes every few steps of its agent. The history does not show these changes.
  const concerns = ({ type, id, task_id: of }: Change) => type !== "run" && (of === task_id || id === task_id);
  const { data } = useResource(read, [task_id], concerns);
  if (!data?.length) return null;
  return (
    <section>
      <h3>History</h3>
      <ol class="history">
        {data.map((event) => (
          <li key={event.id}>
            <span dir="auto">{event.message ?? event.event_type}</span>{" "}
            <span class="muted">
              <Time at={event.created_at} />
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
