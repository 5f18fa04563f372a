import { and, eq, type SQL } from "drizzle-orm";
import { type Filter, conditionOf } from "../lists/filter.ts";
import { boardFor } from "../organization/access.ts";
import type { Admin, User } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { subscriptions } from "../schema/subscription.sql.ts";

/** Where subscriptions are managed: in an organization, those of its boards too, or on one board. */
export interface Owner {
  organization_id: string;
  board_id: string | null;
}

/** Admins see every address to which events of the organization leave. */
export const organizationOwner = (ctx: Context<Admin>): Owner => ({
  organization_id: ctx.actor.active.organization_id,
  board_id: null,
});

/** Requires write access, because a subscription sends what happens on the board elsewhere. */
export async function boardOwner(ctx: Context<User>, board_id: string): Promise<Owner> {
  const board = await boardFor(ctx, board_id, "write");
  return { organization_id: board.organization_id, board_id: board.id };
}

/** Filter of `subscriptions`. */
export const ownedBy = ({ organization_id, board_id }: Owner): Filter => ({
  name: board_id === null ? "of the organization" : "of the board",
  values: { organization_id, board_id },
  condition: (of) =>
    and(
      eq(subscriptions.organization_id, of("organization_id") as string),
      board_id === null ? undefined : eq(subscriptions.board_id, of("board_id") as string),
    )!,
});

/** The same as a condition on `subscriptions`. */
export const isOwnedBy = (owner: Owner): SQL => conditionOf(ownedBy(owner));
