import { setTimeout as pause } from "node:timers/promises";
import { listen, type Listener, type ListenOptions } from "../support/sse.ts";
import type { Tenant, World } from "../support/world.ts";

export const POLL_MS = 20;
/** Waits long enough for several polls. */
export const waitForPolls = (): Promise<void> => pause(POLL_MS * 6);

export const streamPath = (board_id: string, query = ""): string => `/api/v1/boards/${board_id}/memory/stream${query}`;
export const contentsOf = (listener: Listener): string[] => listener.events().map(({ data }) => data.memory.content);

/** Returns functions that write and follow a board's memory as the owner. `place` is evaluated at each call. */
export function createMemoryStreamClient(place: () => { world: World; home: Tenant; board_id: string }) {
  const follow = (query = "", options?: ListenOptions): Promise<Listener> => {
    const { world, home, board_id } = place();
    const send = (target: string, init: RequestInit) => world.app.request(target, init);
    return listen(send, streamPath(board_id, query), options ?? { token: home.owner.token });
  };
  /** Resumes where another listener stopped. */
  const resume = (listener: Listener, query = "") => follow(query, { token: place().home.owner.token, last: listener.lastId() });
  const write = async (content: string, body: object = {}) => {
    const { world, home, board_id } = place();
    const path = `/api/v1/boards/${board_id}/memory`;
    return (await world.call("POST", path, { token: home.owner.token, body: { content, ...body } })).body;
  };
  return { follow, resume, write };
}
