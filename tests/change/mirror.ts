import type { Change } from "@board/core/change/source";
import type { Tenant, World } from "../support/world.ts";
import { openReader } from "./reader.ts";

type Items = Record<Change["type"], Map<string, unknown>>;

/** A copy of an organization's items, which is kept up to date only by the feed and by reads of single items. */
export interface Mirror {
  items: Items;
  sync(): Promise<void>;
}

/**
 * Returns all items by type and id. The sums of budgets are left out, because each report of usage changes them without an entry in
 * the feed.
 */
export const toPlain = (items: Items) =>
  Object.fromEntries(
    Object.entries(items).flatMap(([type, ofType]) =>
      [...ofType].map(([id, item]) => [`${type} ${id}`, type === "budget" ? withoutSums(item as object) : item]),
    ),
  );

const withoutSums = (budget: object) => ({ ...budget, spent: null, reserved: null });

const emptyItems = (): Items => ({
  task: new Map(),
  comment: new Map(),
  approval: new Map(),
  memory: new Map(),
  agent: new Map(),
  board: new Map(),
  run: new Map(),
  budget: new Map(),
  artifact: new Map(),
});

type Item = { id: string };

export async function openMirror(world: World, { owner }: Tenant): Promise<Mirror> {
  const by = { token: owner.token };
  const reader = await openReader(world, by);
  const items = await readLists(world, by);
  const read = async (path: string) => {
    const answer = await world.call("GET", path, by);
    return answer.status === 200 ? answer.body : undefined;
  };
  const find = async (path: string, id: string) =>
    ((await read(path)) as { items: Item[] } | undefined)?.items.find((item) => item.id === id);
  const readItem = ({ type, id, board_id, task_id }: Change) => {
    const board = `/api/v1/boards/${board_id}`;
    if (type === "task") return read(`${board}/tasks/${id}`);
    if (type === "comment") return find(`${board}/tasks/${task_id}/comments?limit=200`, id);
    if (type === "approval") return find(`${board}/approvals?limit=200`, id);
    if (type === "run") return read(`${board}/runs/${id}`);
    if (type === "artifact") return read(`${board}/artifacts/${id}`);
    if (type === "budget") return read(`/api/v1/budgets/${id}`);
    if (type === "memory") return find(`${board}/memory?limit=200`, id);
    return type === "agent" ? read(`/api/v1/agents/${id}`) : read(board);
  };
  return {
    items,
    async sync() {
      for (const change of await reader.read()) {
        const { type, action, id } = change;
        const item = action === "removed" ? undefined : await readItem(change);
        if (item) items[type].set(id, item);
        else items[type].delete(id);
        // Comments and memory of a removed board disappear with it, and the feed has no entries for them.
        if (type === "board" && !item)
          for (const kind of ["comment", "memory"] as const)
            for (const [key, entry] of items[kind]) if ((entry as { board_id: string }).board_id === id) items[kind].delete(key);
      }
    },
  };
}

/** Reads all items from the lists of the API. */
export async function readLists(world: World, by: { token: string }): Promise<Items> {
  const items = emptyItems();
  const add = async (type: Change["type"], path: string) => {
    const answer = await world.call("GET", `${path}?limit=200`, by);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.text}`);
    for (const item of answer.body.items as Item[]) items[type].set(item.id, item);
  };
  await add("board", "/api/v1/boards");
  await add("agent", "/api/v1/agents");
  await add("budget", "/api/v1/budgets");
  for (const board_id of items.board.keys()) {
    const board = `/api/v1/boards/${board_id}`;
    await add("task", `${board}/tasks`);
    await add("run", `${board}/runs`);
    await add("approval", `${board}/approvals`);
    await add("memory", `${board}/memory`);
  }
  for (const task of items.task.values() as Iterable<{ id: string; board_id: string }>) {
    await add("comment", `/api/v1/boards/${task.board_id}/tasks/${task.id}/comments`);
    await add("artifact", `/api/v1/boards/${task.board_id}/tasks/${task.id}/artifacts`);
  }
  return items;
}
