import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import { attempt } from "../ui/toast.tsx";

const PATH = "/api/v1/boards/{board_id}/tasks/{task_id}/follow";

/** Whether the person is told about this task in the inbox. */
export function Following({ board_id, task_id }: { board_id: string; task_id: string }) {
  const params = { path: { board_id, task_id } };
  const { data, reload } = useResource(
    (signal) => api.get(PATH, { params, signal }),
    [task_id],
    () => false,
    true,
  );
  if (!data) return null;
  const act = () => (data.following ? api.delete(PATH, { params }) : api.put(PATH, { params }));
  return (
    <button
      type="button"
      class="small"
      aria-pressed={data.following}
      onClick={async () => {
        await attempt("Following was not changed", act);
        await reload();
      }}
    >
      {data.following ? "Following" : "Follow"}
    </button>
  );
}
