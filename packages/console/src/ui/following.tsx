import { useResource } from "../resource.ts";
import { attempt } from "./toast.tsx";

interface FollowingProps {
  /** The id of what is followed. When it changes, the state is read again. */
  of: string;
  read: (signal: AbortSignal) => Promise<{ following: boolean }>;
  change: (following: boolean) => Promise<unknown>;
}

/** Shows whether the person is notified about something in the inbox. */
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
