import { useResource } from "../resource.ts";
import { attempt } from "./toast.tsx";

interface FollowingProps {
  /** The id of the followed task or board. When the id changes, the state is read again. */
  of: string;
  read: (signal: AbortSignal) => Promise<{ following: boolean }>;
  change: (following: boolean) => Promise<unknown>;
}

/** Shows and changes whether the person gets notifications about a task or a board. */
export function Following({ of, read, change }: FollowingProps) {
  const { data, reload } = useResource(read, [of], () => false, true);
  if (!data) return null;
  return (
    <button
      type="button"
      class="small"
      aria-pressed={data.following}
      onClick={async () => {
        await attempt("Following was not changed", () => change(!data.following));
        await reload();
      }}
    >
      {data.following ? "Following" : "Follow"}
    </button>
  );
}
