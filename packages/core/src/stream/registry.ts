import { randomUUID } from "node:crypto";
import type { Context } from "../context/context.ts";
import { type AddedStream, admitStream, type OpenStream } from "./admission.ts";

/** The place of an open stream within the budgets of its owner. */
export interface StreamLease {
  /** Aborted when the next stream of its client has taken the place. */
  readonly replaced: AbortSignal;
  /** Frees the place. Never rejects. */
  release(): Promise<void>;
}

/** Counts the open streams. */
export interface StreamRegistry {
  /** Throws `limited` when the budgets leave no place. */
  acquire(ctx: Context, added: AddedStream): Promise<StreamLease>;
}

/** Counts the streams of this process, which notices at once when a client has gone. */
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
