import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import { isAdmin } from "../session.ts";
import { Time } from "../ui/time.tsx";

/** The newest events of the organization, among which those of the task are found. */
const LIMIT = 200;

/** What happened to a task. Comments have their own list. */
export function History({ task_id }: { task_id: string }) {
  const read = async (signal: AbortSignal) => {
    if (!isAdmin.value) return [];
    const { items } = await api.get("/api/v1/activity", { params: { query: { limit: LIMIT } }, signal });
    return items.filter((event) => event.task_id === task_id && event.event_type !== "task.comment");
  };
  const { data } = useResource(read, [task_id], (change) => change.task_id === task_id || change.id === task_id);
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
