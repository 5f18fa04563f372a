import { randomUUID } from "node:crypto";
import type { Context } from "../context/context.ts";
import { type AddedStream, admitStream, type OpenStream } from "./admission.ts";

/** An open stream, counted toward the budgets of its owners. */
export interface StreamLease {
  /** Aborted when a newer stream of the same client replaces this one. */
  readonly replaced: AbortSignal;
  /** Ends counting the stream. Never rejects. */
  release(): Promise<void>;
}

/** Counts the open streams. */
export interface StreamRegistry {
  /** Counts a new stream. Throws `limited` if a budget is used up. */
  acquire(ctx: Context, added: AddedStream): Promise<StreamLease>;
}

/**
 * Counts only the streams of this process. Such a count is enough for a process that serves many streams and notices at once when
 * a client disconnects.
 */
export function createProcessRegistry(): StreamRegistry {
  const open = new Map<string, OpenStream & { controller: AbortController }>();
  return {
    async acquire({ settings }, added) {
      for (const id of admitStream([...open.values()], added, settings.budgets)) {
        open.get(id)!.controller.abort();
        open.delete(id);
      }
      const id = randomUUID();
      const controller = new AbortController();
      open.set(id, { ...added, id, controller });
      return {
        replaced: controller.signal,
        async release() {
          open.delete(id);
        },
      };
    },
  };
}
