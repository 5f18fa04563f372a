import { setTimeout as pause } from "node:timers/promises";
import type { BoardService } from "./board-service.ts";

export interface WorkSignal {
  /** Waits until there may be work: until an event of the board, or until the service should be asked again. */
  wait(how: { retry_after_seconds: number; isFinal: boolean; max_ms: number }): Promise<void>;
}

/** Without events, the service is asked at this interval, which also shows that the agent is alive. */
const CHECK_MS = 240_000;
/**
 * The maximum of a random wait after an event. Events come in groups and reach several runners, which should not all ask at once.
 */
const SPREAD_MS = 700;
const RECONNECT_MS = 30_000;

/**
 * Follows the tasks of the board over one open connection, so that an idle runner sends no requests and still begins a new task
 * within seconds. Without a board, the runner asks for work at the interval that the service chooses.
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
        // The stream reconnects by itself after errors. It ends only after a refusal, such as a limit on connections.
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

/** Returns whether an event may mean that there is a task to take. A task that another agent works on does not count. */
const mayBeWork = (data: object): boolean => (data as { task?: { status?: string } | null }).task?.status === "inbox";
