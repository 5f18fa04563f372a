import { api } from "../api.ts";
import type { Change } from "../live.ts";
import { useResource } from "../resource.ts";
import { Following } from "../ui/following.tsx";
import { toPlain } from "../ui/plain.ts";

const TASK = "/api/v1/boards/{board_id}/tasks/{task_id}";
const PATH = `${TASK}/follow` as const;

/** Follows a task, and shows who else does. */
export function FollowingTask(path: { board_id: string; task_id: string }) {
  const { task_id } = path;
  const params = { path };
  const read = (signal: AbortSignal) => api.get(`${TASK}/followers`, { params, signal });
  // People who comment on a task follow it.
  const isComment = ({ type, task_id: of }: Change) => type === "comment" && of === task_id;
  const { data, reload } = useResource(read, [task_id], isComment, true);
  return (
    <>
      {data && data.total > 0 && (
        <details class="followers">
          <summary>{data.total === 1 ? "1 follower" : `${data.total} followers`}</summary>
          <ul>
            {data.followers.map(({ user_id, name }) => (
              <li key={user_id} dir="auto">
                {toPlain(name ?? "a person without a name")}
              </li>
            ))}
            {data.total > data.followers.length && <li class="muted">and {data.total - data.followers.length} more</li>}
          </ul>
        </details>
      )}
      <Following
        of={task_id}
        read={(signal) => api.get(PATH, { params, signal })}
        change={async (following) => {
          await (following ? api.put(PATH, { params }) : api.delete(PATH, { params }));
          await reload();
        }}
      />
    </>
  );
}
