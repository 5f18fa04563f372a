import { api } from "../api.ts";
import { Following } from "../ui/following.tsx";

const PATH = "/api/v1/boards/{board_id}/tasks/{task_id}/follow";

export function FollowingTask(path: { board_id: string; task_id: string }) {
  const params = { path };
  return (
    <Following
      of={path.task_id}
      read={(signal) => api.get(PATH, { params, signal })}
      change={(following) => (following ? api.put(PATH, { params }) : api.delete(PATH, { params }))}
    />
  );
}
