import { and, eq, isNull, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import type { User } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { activity_events } from "../schema/activity.sql.ts";
import { follows } from "../schema/follow.sql.ts";
import { tasks } from "../schema/task.sql.ts";
import { type BoardRow, boardFor } from "../organization/access.ts";
import { notFound } from "../values/errors.ts";
import { lazyObject } from "../values/wire.ts";

export const Following = lazyObject(() => ({
  following: z.boolean().describe("Whether the caller is notified of what happens there."),
})).meta({ id: "Following", description: "Whether a person follows a board or a task." });
export type Following = z.infer<typeof Following>;

/** Checks whether the caller follows a board. */
export async function getBoardFollowing(ctx: Context<User>, board_id: string): Promise<Following> {
  const board = await boardFor(ctx, board_id, "read");
  const [row] = await ctx.db
    .select({ following: follows.following })
    .from(follows)
    .where(and(eq(follows.board_id, board.id), isNull(follows.task_id), eq(follows.user_id, ctx.actor.user_id)));
  return { following: row?.following ?? false };
}

/** Makes the caller follow or unfollow a board. */
export async function setBoardFollowing(ctx: Context<User>, board_id: string, following: boolean): Promise<Following> {
  const { id, organization_id } = await boardFor(ctx, board_id, "read");
  await ctx.db
    .insert(follows)
    .values({ organization_id, board_id: id, user_id: ctx.actor.user_id, following })
    .onConflictDoUpdate({
      target: [follows.board_id, follows.user_id],
      targetWhere: sql`task_id is null`,
      set: { following },
    });
  return { following };
}

/** Makes the creator of a board its follower. If none of the followers may decide on an approval, the creator is asked. */
export async function followAsMaker(ctx: Context<User>, { id: board_id, organization_id }: BoardRow): Promise<void> {
  await ctx.db.insert(follows).values({ organization_id, board_id, user_id: ctx.actor.user_id, following: true, is_maker: true });
}

/** Checks whether the caller follows a task, either by choice or because the caller created it or commented on it. */
export async function getTaskFollowing(ctx: Context<User>, board_id: string, task_id: string): Promise<Following> {
  const board = await boardFor(ctx, board_id, "read");
  const user_id = sql`${ctx.actor.user_id}::uuid`;
  const [row] = await ctx.db
    .select({ following: sql<boolean>`${user_id} in ${followersOfTask(tasks.id)}` })
    .from(tasks)
    .where(and(eq(tasks.id, task_id), eq(tasks.board_id, board.id)));
  if (!row) throw notFound();
  return row;
}

/**
 * Makes the caller follow or unfollow a task. Once unfollowed, a task stays unfollowed, even for its creator and for people who
 * commented on it.
 */
export async function setTaskFollowing(
  ctx: Context<User>,
  board_id: string,
  task_id: string,
  following: boolean,
): Promise<Following> {
  const board = await boardFor(ctx, board_id, "read");
  const inserted = await ctx.db
    .insert(follows)
    .select(
      ctx.db
        .select({
          id: sql<string>`gen_random_uuid()`.as("id"),
          organization_id: sql<string>`${board.organization_id}::uuid`.as("organization_id"),
          board_id: tasks.board_id,
          task_id: tasks.id,
          user_id: sql<string>`${ctx.actor.user_id}::uuid`.as("user_id"),
          following: sql<boolean>`${following}::boolean`.as("following"),
          is_maker: sql<boolean>`false`.as("is_maker"),
          created_at: sql<Date>`now()`.as("created_at"),
          updated_at: sql<Date>`now()`.as("updated_at"),
        })
        .from(tasks)
        .where(and(eq(tasks.id, task_id), eq(tasks.board_id, board.id)))
        .for("key share"),
    )
    .onConflictDoUpdate({
      target: [follows.task_id, follows.user_id],
      targetWhere: sql`task_id is not null`,
      set: { following },
    })
    .returning({ following: follows.following });
  if (inserted.length === 0) throw notFound();
  return { following };
}

/**
 * Returns a subquery with the ids of a task's followers. Its creator and people who commented follow it without a row in `follows`,
 * so that creating or commenting on a task writes no such rows.
 */
export const followersOfTask = (task_id: SQL | typeof tasks.id): SQL => sql`(
  (select follow.user_id from ${follows} as follow where follow.task_id = ${task_id} and follow.following
    union select task.created_by_user_id from ${tasks} as task where task.id = ${task_id}
      and task.created_by_user_id is not null
    union select event.user_id from ${activity_events} as event where event.task_id = ${task_id} and event.event_type = 'task.comment'
      and event.user_id is not null)
  except select follow.user_id from ${follows} as follow where follow.task_id = ${task_id} and not follow.following)`;

/** Returns a subquery with the ids of people who follow the whole board. */
export const followersOfBoard = (board_id: string): SQL => sql`(
  select follow.user_id from ${follows} as follow where follow.board_id = ${board_id} and follow.task_id is null and follow.following)`;

/** Returns a subquery with the ids of people who unfollowed the task, although they may follow its board. */
export const nonFollowersOfTask = (task_id: string | null): SQL => sql`(
  select follow.user_id from ${follows} as follow where follow.task_id = ${task_id}::uuid and not follow.following)`;

/** Returns a subquery with the id of the person who created the board. */
export const makerOfBoard = (board_id: string): SQL => sql`(
  select follow.user_id from ${follows} as follow where follow.board_id = ${board_id} and follow.is_maker)`;
