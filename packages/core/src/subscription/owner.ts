import { and, eq, type SQL } from "drizzle-orm";
import { type Filter, conditionOf } from "../lists/filter.ts";
import { boardFor } from "../organization/access.ts";
import { type Admin, admin, type User } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { lockOrganization, recheckCaller } from "../organization/lock.ts";
import { subscriptions } from "../schema/subscription.sql.ts";

/** Whose subscriptions are managed: the subscriptions of one board, or of an organization with all its boards (`board_id` null). */
export interface Owner {
  organization_id: string;
  board_id: string | null;
}

/**
 * Returns the organization as the owner. Only admins may use it, because it covers every address to which the organization's events
 * are sent.
 */
export const organizationOwner = (ctx: Context<Admin>): Owner => ({
  organization_id: ctx.actor.active.organization_id,
  board_id: null,
});

/** Returns the board as the owner. Requires write access, because a subscription sends events of the board to another system. */
export async function boardOwner(ctx: Context<User>, board_id: string): Promise<Owner> {
  const board = await boardFor(ctx, board_id, "write");
  return { organization_id: board.organization_id, board_id: board.id };
}

/**
 * Locks the owner's organization, and checks again that the caller may manage the subscriptions of the owner. The caller may have
 * lost the right while the request waited for the lock or for the receiver.
 */
export async function lockOwner(ctx: Context<User>, { organization_id, board_id }: Owner): Promise<void> {
  await lockOrganization(ctx, organization_id);
  await (board_id === null ? recheckCaller(ctx, organization_id, admin) : boardFor(ctx, board_id, "write"));
}

/** Returns a filter of `subscriptions` that keeps the subscriptions of the owner. */
export const ownedBy = ({ organization_id, board_id }: Owner): Filter => ({
  name: board_id === null ? "of the organization" : "of the board",
  values: { organization_id, board_id },
  condition: (of) =>
    and(
      eq(subscriptions.organization_id, of("organization_id") as string),
      board_id === null ? undefined : eq(subscriptions.board_id, of("board_id") as string),
    )!,
});

/** Returns a condition on `subscriptions`: whether the subscription belongs to the owner. */
export const isOwnedBy = (owner: Owner): SQL => conditionOf(ownedBy(owner));
