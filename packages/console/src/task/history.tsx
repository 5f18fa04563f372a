import { useRef } from "preact/hooks";
import { api, isStatus } from "../api.ts";
import type { Change } from "../live.ts";
import { useResource } from "../resource.ts";
import { isAdmin } from "../session.ts";
import type { ActivityEvent } from "../types.ts";
import { Problem } from "../ui/parts.tsx";
import { Time } from "../ui/time.tsx";

/** How many events are shown at first, and how many more with each click. */
const SHOWN = 30;
const LIMIT = 200;

/** Whether the service does not let members read the log. It is then not asked again. */
let isRefused = false;

/** Reads the newest events of a task without its comments, which have their own list, and one event more than is shown. */
async function readEvents(task_id: string, shown: number, signal: AbortSignal): Promise<ActivityEvent[]> {
  const events: ActivityEvent[] = [];
  if (isRefused && !isAdmin.value) return events;
  try {
    for await (const event of api.list("/api/v1/activity", { params: { query: { task_id, limit: LIMIT } }, signal })) {
      if (event.event_type !== "task.comment") events.push(event);
      if (events.length > shown) break;
    }
  } catch (error) {
    if (!isStatus(error, 403)) throw error;
    isRefused = true;
  }
  return events;
}

/** What happened to a task, newest first. Members who may not read the log do not see it. */
export function History({ task_id }: { task_id: string }) {
  const shown = useRef(SHOWN);
  // A run changes often while its agent works. The history does not show these changes.
  const concerns = ({ type, id, task_id: of }: Change) => type !== "run" && (of === task_id || id === task_id);
  const { data, error, reload } = useResource((signal) => readEvents(task_id, shown.current, signal), [task_id], concerns);
  if (!error && !data?.length) return null;
  return (
    <section>
      <h3>History</h3>
      <Problem error={error} retry={reload} />
      <ol class="history">
        {data?.slice(0, shown.current).map((event) => (
          <li key={event.id}>
            <span dir="auto">{event.message ?? event.event_type}</span>{" "}
            <span class="muted">
              <Time at={event.created_at} />
            </span>
          </li>
        ))}
      </ol>
      {data && data.length > shown.current && (
        <button
          type="button"
          class="small"
          onClick={() => {
            shown.current += SHOWN;
            void reload();
          }}
        >
          Show earlier events
        </button>
      )}
    </section>
  );
}
