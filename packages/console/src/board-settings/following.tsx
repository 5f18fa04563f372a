import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import { attempt } from "../ui/toast.tsx";

const PATH = "/api/v1/boards/{board_id}/follow";

/** Whether the person is told about this board in the inbox. */
export function Following({ board_id }: { board_id: string }) {
  const params = { path: { board_id } };
  const { data, reload } = useResource(
    (signal) => api.get(PATH, { params, signal }),
    [board_id],
    () => false,
    true,
  );
  if (!data) return null;
  const act = () => (data.following ? api.delete(PATH, { params }) : api.put(PATH, { params }));
  return (
    <button
      type="button"
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
