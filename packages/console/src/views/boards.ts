import { isStatus } from "../api.ts";
import { boards } from "../session.ts";

/** Reads a list from every board and joins the lists. A board that is removed meanwhile counts as empty. */
export async function readEachBoard<T>(read: (board_id: string) => Promise<{ items: T[] }>): Promise<T[]> {
  const pages = await Promise.all(
    (boards.value ?? []).map(({ id }) =>
      read(id).catch((error: unknown) => {
        if (isStatus(error, 404) || isStatus(error, 403)) return { items: [] };
        throw error;
      }),
    ),
  );
  return pages.flatMap((page) => page.items);
}
