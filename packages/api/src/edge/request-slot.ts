import type { Context } from "@board/core/context/context";
import { DomainError } from "@board/core/values/errors";
import { createFairQueue, type FairQueue, QueueFullError, type QueueSlot } from "@board/core/values/fair-queue";
import { usedUp } from "@board/core/values/request-limits";
import { toCounterKey } from "@board/core/db/rate-limit";
import type { Runtime } from "../runtime.ts";

const RETRY_AFTER = 5;
/** The share of all slots that requests with a credential may occupy. The same share applies to requests without a credential. */
const KIND_SHARE = 0.75;

/** Limits for a single database connection, over which more concurrent requests would only wait for each other's statements. */
const MAX_OF_SHARED_CONNECTION = { running: 4, of_organization: 1 };

/**
 * Creates the queue in which the requests of a process wait for a slot. It is fair between organizations, and between the callers
 * of an organization.
 */
export function createRequestQueue({ settings: { budgets }, shares_connection = false }: Runtime): FairQueue {
  const most = (limit: number, max: number) => (shares_connection && limit > 0 ? Math.min(limit, max) : limit);
  const running = most(budgets.running_requests, MAX_OF_SHARED_CONNECTION.running);
  return createFairQueue({
    running: [
      running,
      Math.ceil(running * KIND_SHARE),
      most(budgets.organization_running_requests, MAX_OF_SHARED_CONNECTION.of_organization),
    ],
    waiting: budgets.waiting_requests,
    waiting_of_group: budgets.caller_waiting_requests,
    group_units_per_second: budgets.organization_answer_bytes_per_second,
  });
}

/** The slot of one request. It is free while the body arrives, and while the request waits for a host or for events. */
export class RequestSlot {
  readonly #queue: FairQueue;
  #keys: readonly string[] | null = null;
  #slot: QueueSlot | null = null;
  constructor(queue: FairQueue) {
    this.#queue = queue;
  }

  /** Waits until a request of this caller may run. */
  async take({ actor }: Pick<Context, "actor">, address: string, path_board_id = ""): Promise<void> {
    await this.#enter(
      actor.type === "user"
        ? ["known", actor.active?.organization_id ?? actor.user_id, actor.user_id]
        : actor.type === "agent"
          ? ["known", actor.organization_id, actor.agent_id]
          : ["anonymous", toCounterKey(address), path_board_id],
    );
  }

  end(): void {
    this.#slot?.end();
    this.#slot = null;
  }

  /** Frees the slot during work that only waits, and then waits for a slot again. */
  async pauseDuring<T>(work: () => Promise<T>): Promise<T> {
    if (!this.#slot) return work();
    this.end();
    const result = await work();
    await this.#enter(this.#keys!);
    return result;
  }

  /** Counts the bytes of the answer against the organization's limit. */
  charge(bytes: number): void {
    this.#slot?.charge(bytes);
  }

  async #enter(keys: readonly string[]): Promise<void> {
    this.#keys = keys;
    try {
      this.#slot = await this.#queue.enter(keys);
    } catch (error) {
      throw error instanceof QueueFullError ? toRefusal(error, keys) : error;
    }
  }
}

function toRefusal({ of, limit }: QueueFullError, [kind]: readonly string[]): DomainError {
  const retry = { retry_after_seconds: RETRY_AFTER };
  if (of === "all") return new DomainError("overloaded", "Too many requests are waiting. Try again in a few seconds.", retry);
  const whose = kind === "anonymous" ? "from this address" : "of this organization";
  return new DomainError("limited", `Too many requests ${whose} are waiting. Try again in a few seconds.`, {
    ...retry,
    limit: usedUp("caller_waiting_requests", limit, RETRY_AFTER),
  });
}
