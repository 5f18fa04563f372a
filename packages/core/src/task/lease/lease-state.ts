import { sql } from "drizzle-orm";
import * as z from "zod";
import { Id, Instant, lazyObject } from "../../values/wire.ts";
import type { TaskRow } from "../status-rules.ts";

// Pure functions that compute the lease of a task (docs/reference/tasks.md#leases). The holder is the task's assignee.

export const TaskLease = lazyObject(() => ({
  agent_id: Id.describe("Agent that holds the task."),
  fence: z.int().describe("Number of the lease, to be sent as `X-Task-Fence` with each write."),
  expires_at: Instant.describe("When it ends, unless it is renewed."),
})).meta({ id: "TaskLease", description: "The time for which an agent holds a task." });
export type TaskLease = z.infer<typeof TaskLease>;

type LeaseRow = Pick<TaskRow, "assigned_agent_id" | "lease_expires_at" | "lease_fence">;

export const toLease = ({ assigned_agent_id, lease_expires_at, lease_fence }: LeaseRow): TaskLease | null =>
  assigned_agent_id !== null && lease_expires_at !== null
    ? { agent_id: assigned_agent_id, fence: lease_fence, expires_at: lease_expires_at.toISOString() }
    : null;

/**
 * A request that begins or returns a lease. All other changes of a lease follow from changes of the task. With `resume`, an agent
 * that already holds the lease keeps its fence.
 */
export type LeaseAction = { type: "begin"; lease_seconds: number; resume?: boolean } | { type: "return" };

interface LeaseChange {
  before: TaskRow;
  after: Pick<TaskRow, "status" | "assigned_agent_id">;
  acting_agent_id: string | null;
  action: LeaseAction | null;
  has_comment: boolean;
  now: Date;
}

type LeaseState = Pick<TaskRow, "lease_expires_at" | "lease_seconds" | "lease_fence" | "lease_was_free" | "lease_expiries">;

const NO_LEASE = { lease_expires_at: null, lease_seconds: null, lease_was_free: false };

/**
 * Returns the lease after a change. A change by the holder renews or ends the lease but keeps the fence, so that the holder can
 * still comment on what it submitted. If anyone else takes the task away from the holder, the fence increases.
 */
export function nextLease({ before, after, acting_agent_id, action, has_comment, now }: LeaseChange): LeaseState {
  const { lease_expires_at, lease_seconds, lease_fence, lease_was_free } = before;
  const isByHolder = acting_agent_id !== null && before.assigned_agent_id === acting_agent_id;
  const hasWorked = isByHolder && action === null && (has_comment || after.status !== before.status);
  const isUnblocked = before.status === "blocked" && after.status !== "blocked";
  const lease_expiries = hasWorked || isUnblocked ? 0 : before.lease_expiries;
  if (action?.type === "begin")
    return {
      lease_expires_at: toExpiry(now, action.lease_seconds),
      lease_seconds: action.lease_seconds,
      lease_fence: action.resume && isByHolder && lease_expires_at !== null ? lease_fence : lease_fence + 1,
      lease_was_free: before.assigned_agent_id === null || lease_was_free,
      lease_expiries,
    };
  if (lease_expires_at === null) return { ...NO_LEASE, lease_fence, lease_expiries };
  const isKept = after.status === "in_progress" && after.assigned_agent_id === before.assigned_agent_id;
  if (!isKept) return { ...NO_LEASE, lease_fence: isByHolder ? lease_fence : lease_fence + 1, lease_expiries };
  const renewed_at = isByHolder ? toExpiry(now, lease_seconds!) : lease_expires_at;
  return { lease_expires_at: renewed_at, lease_seconds, lease_fence, lease_was_free, lease_expiries };
}

const toExpiry = (now: Date, seconds: number) => new Date(now.getTime() + seconds * 1_000);

/**
 * The assignments for an UPDATE of `task` that takes the task away from its holder. They end the lease and increase the fence.
 */
export const lostLease = sql`lease_expires_at = null, lease_seconds = null, lease_was_free = false,
        lease_fence = task.lease_fence + (task.lease_expires_at is not null)::int`;
