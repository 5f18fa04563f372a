import { setTimeout as pause } from "node:timers/promises";
import type { BoardService } from "./board-service.ts";

export interface WorkSignal {
  /** Waits until there may be work: an event of the board, or the time after which the service wants to be asked again. */
  wait(how: { retry_after_seconds: number; isFinal: boolean; max_ms: number }): Promise<void>;
}

/** Without events, the service is asked this often, which also shows the service that the agent is alive. */
const CHECK_MS = 240_000;
/** Events come in groups, and several runners wait for the same events, so each waits a random time up to this one. */
const SPREAD_MS = 700;
const RECONNECT_MS = 30_000;

/**
 * Follows the tasks of the board over one open connection, so that an idle runner asks for nothing and still begins a new task
 * within seconds. Without a board it asks as often as the service says.
 */
export function openWorkSignal(service: BoardService, board_id: string | null, signal: AbortSignal): WorkSignal {
  const waiting = new Set<() => void>();
  let isFollowing = false;
  if (board_id !== null) void follow(board_id);

  async function follow(id: string): Promise<void> {
    while (!signal.aborted) {
      try {
        const params = { path: { board_id: id }, query: { since: new Date().toISOString() } };
        const events = service.client.stream("/api/v1/boards/{board_id}/tasks/stream", { params, signal });
        isFollowing = true;
        for await (const { data } of events) if (mayBeWork(data)) for (const wake of waiting) wake();
      } catch {
        // The stream resumes by itself after errors. Only a refusal ends it here, such as a limit on connections.
      }
      isFollowing = false;
      await pause(RECONNECT_MS, undefined, { signal }).catch(() => {});
    }
  }

  return {
    async wait({ retry_after_seconds, isFinal, max_ms }) {
      const asked = Math.max(1, retry_after_seconds) * 1_000;
      const ms = Math.min(isFollowing && !isFinal ? Math.max(asked, CHECK_MS) : asked, max_ms);
      const woken = new AbortController();
      const wake = () => void setTimeout(() => woken.abort(), Math.random() * SPREAD_MS);
      if (!isFinal) waiting.add(wake);
      try {
        await pause(ms, undefined, { signal: AbortSignal.any([signal, woken.signal]) });
      } catch (error) {
        if (!woken.signal.aborted || signal.aborted) throw error;
      } finally {
        waiting.delete(wake);
      }
    },
  };
}

/** Returns whether an event may mean that there is a task to take. A task that others work on does not count. */
const mayBeWork = (data: object): boolean => (data as { task?: { status?: string } | null }).task?.status === "inbox";
