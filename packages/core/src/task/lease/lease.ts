import { and, asc, eq, inArray, isNotNull, sql } from "drizzle-orm";
import * as z from "zod";
import { boardFor } from "../../organization/access.ts";
import type { Agent } from "../../context/actor.ts";
import type { Context } from "../../context/context.ts";
import { actingAs } from "../../db/change-actor.ts";
import { Instant, Integer, lazyObject } from "../../values/wire.ts";
import { TaskLease } from "./lease-state.ts";
import type { Task } from "../task.ts";
import { tasks } from "../../schema/task.sql.ts";
import { changeLease } from "../update.ts";

const DEFAULT_SECONDS = 900;
const MAX_SECONDS = 86_400;

export const LeaseSeconds = Integer(60, MAX_SECONDS).default(DEFAULT_SECONDS).describe("Length of the lease.");

export const TakeLease = lazyObject(() => ({ lease_seconds: LeaseSeconds })).meta({ id: "TaskLeaseWrite" });
export type TakeLease = z.infer<typeof TakeLease>;

export const HeldLease = lazyObject(() => ({
  fence: TaskLease.shape.fence,
  expires_at: Instant.describe("When it ends, unless it is renewed."),
})).meta({ id: "HeldTaskLease", description: "The lease of the caller." });
export type HeldLease = z.infer<typeof HeldLease>;

/** Returns the lease of a task that was just taken. */
export const toHeldLease = ({ lease }: Task): HeldLease => ({ fence: lease!.fence, expires_at: lease!.expires_at });

/** Leases a task, or renews the lease. A task in the inbox moves to `in_progress`. */
export async function takeLease(
  ctx: Context<Agent>,
  board_id: string,
  task_id: string,
  { lease_seconds }: TakeLease,
  fence: number | null,
): Promise<HeldLease> {
  const board = await boardFor(ctx, board_id, "write");
  return toHeldLease(await changeLease(ctx, board, task_id, { type: "begin", lease_seconds }, fence));
}

/** Returns a task to the inbox. The task becomes unassigned if it was unassigned before the lease. */
export async function returnLease(ctx: Context<Agent>, board_id: string, task_id: string, fence: number | null): Promise<void> {
  const board = await boardFor(ctx, board_id, "write");
  await changeLease(ctx, board, task_id, { type: "return" }, fence);
}

/**
 * Returns the values for an UPDATE that renews leases for their full length. `updated_at` stays the same, because the task itself
 * does not change.
 */
const renewedLease = (ctx: Context) => ({
  lease_expires_at: sql`${ctx.now().toISOString()}::timestamptz + ${tasks.lease_seconds} * interval '1 second'`,
  updated_at: sql`${tasks.updated_at}`,
});

/** Renews all leases of an agent. Locked tasks are skipped, so that the request does not wait. */
export async function renewLeases(ctx: Context, { agent_id }: Pick<Agent, "agent_id">): Promise<void> {
  const held = ctx.db
    .select({ id: tasks.id })
    .from(tasks)
    .where(and(eq(tasks.assigned_agent_id, agent_id), isNotNull(tasks.lease_expires_at)))
    .orderBy(asc(tasks.id))
    .for("no key update", { skipLocked: true });
  await ctx.db
    .update(tasks)
    .set(renewedLease(ctx))
    .where(and(inArray(tasks.id, held), actingAs(ctx)));
}

type LeasedTask = Pick<typeof tasks.$inferSelect, "id" | "board_id" | "lease_expires_at" | "lease_expiries">;

/** Returns whether a comment by the holder has to renew the lease or reset the count of expiries. */
export const needsRenewal = ({ lease_expires_at, lease_expiries }: LeasedTask): boolean =>
  lease_expires_at !== null || lease_expiries > 0;

/** Returns the UPDATE for a comment by the holder. It renews the lease and resets the count of expiries. */
export const renewalByComment = (ctx: Context, { id, board_id }: LeasedTask, agent_id: string) =>
  ctx.db
    .update(tasks)
    .set({ ...renewedLease(ctx), lease_expiries: 0 })
    .where(and(eq(tasks.id, id), eq(tasks.board_id, board_id), eq(tasks.assigned_agent_id, agent_id), actingAs(ctx)));
