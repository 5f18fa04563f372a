import type { StreamEvent } from "./events.ts";

export type ChangeType = "task" | "comment" | "approval" | "memory" | "agent" | "board" | "run";

/** An entry of the feed of changes: what changed, when and who changed it. Read the changed resource by its id. */
export interface Change {
  /** Position after this entry; pass it as `cursor` to continue there. */
  cursor: string;
  type: ChangeType;
  action: "created" | "updated" | "removed";
  id: string;
  board_id: string | null;
  task_id: string | null;
  at: string;
  actor: { type: "user" | "agent" | "system"; id: string | null };
}

export interface ChangesOptions {
  /** Position after which to begin: an entry's cursor, or `""` for the oldest stored entry. The default is now. */
  cursor?: string;
  /** Only changes on this board. */
  board_id?: string;
  /** Only changes of these types. */
  types?: readonly ChangeType[];
  /** If false, the iteration ends after the last stored change. Otherwise new changes are yielded as they happen. */
  live?: boolean;
  /** Ends the iteration by throwing the signal's reason. */
  signal?: AbortSignal;
}

interface ChangePage {
  changes: Change[];
  cursor: string;
  has_more: boolean;
}

/** The two ways to read the feed. The client provides them. */
interface Feed {
  read(query: Record<string, unknown>): Promise<ChangePage>;
  follow(query: Record<string, unknown>, last_id: string): AsyncGenerator<StreamEvent<unknown>>;
}

/** Yields the stored changes after the cursor, page by page, and then new changes from the stream. */
export async function* readChanges(feed: Feed, { cursor, board_id, types, live = true }: ChangesOptions): AsyncGenerator<Change> {
  const filter = { ...(board_id && { board_id }), ...(types && { types: types.join(",") }) };
  let at = cursor;
  for (let has_more = true; has_more; ) {
    const page = await feed.read({ ...filter, ...(at !== undefined && { cursor: at }) });
    yield* page.changes;
    at = page.cursor;
    has_more = page.has_more;
  }
  if (!live) return;
  for await (const { data } of feed.follow(filter, at!)) yield data as Change;
}
