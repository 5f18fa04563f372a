import type { Change } from "@board/core/change/source";
import type { CallOptions } from "../support/http.ts";
import type { World } from "../support/world.ts";

/** Reads the feed like a program that keeps its cursor. */
export interface Reader {
  cursor: string;
  /** The changes since the last call. */
  read(): Promise<Change[]>;
  /** The changes since the last call as lines such as `task updated`. */
  lines(): Promise<string[]>;
}

/** Opens a reader that starts now. `query` is a filter such as `board_id=…`. */
export async function openReader(world: World, by: CallOptions, query = ""): Promise<Reader> {
  const get = async (cursor: string | null) => {
    const path = `/api/v1/changes?${[query, cursor === null ? "" : `cursor=${cursor}`].filter(Boolean).join("&")}`;
    const answer = await world.call("GET", path, by);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
    return answer.body as { changes: Change[]; cursor: string; has_more: boolean };
  };
  const reader: Reader = {
    cursor: (await get(null)).cursor,
    async read() {
      const changes: Change[] = [];
      for (let more = true; more; ) {
        const part = await get(reader.cursor);
        changes.push(...part.changes);
        reader.cursor = part.cursor;
        more = part.has_more;
      }
      return changes;
    },
    lines: async () => (await reader.read()).map(({ type, action }) => `${type} ${action}`),
  };
  return reader;
}
