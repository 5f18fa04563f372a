import { and, eq, sql } from "drizzle-orm";
import * as z from "zod";
import type { User } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { boardFor } from "../organization/access.ts";
import { mayReadNow } from "../organization/board-rights.ts";
import { users } from "../schema/organization.sql.ts";
import { tasks } from "../schema/task.sql.ts";
import { notFound } from "../values/errors.ts";
import { Id, lazyObject } from "../values/wire.ts";
import { followersOfTask } from "./follow.ts";

/** A task rarely has more followers, so the list has no pages. */
const MAX_LISTED = 50;

export const TaskFollowers = lazyObject(() => ({
  total: z.int().describe("Number of people who follow the task and may read its board."),
  followers: z
    .array(
      z.object({
        user_id: Id.describe("Id of the person."),
        name: z.string().nullable().describe("What the person wants to be called, else the name or the e-mail address."),
      }),
    )
    .describe(`The first ${MAX_LISTED} of them by name.`),
})).meta({ id: "TaskFollowers", description: "The people who follow a task. People who only follow its board are not listed." });
export type TaskFollowers = z.infer<typeof TaskFollowers>;

/** Returns the people who follow a task: by choice, or because they created it or commented on it. */
export async function getTaskFollowers(ctx: Context<User>, board_id: string, task_id: string): Promise<TaskFollowers> {
  const board = await boardFor(ctx, board_id, "read");
  const [task] = await ctx.db
    .select({ id: tasks.id })
    .from(tasks)
    .where(and(eq(tasks.id, task_id), eq(tasks.board_id, board.id)));
  if (!task) throw notFound();
  // Service users, as which API keys act, are left out. They are not people, and nobody reads their inboxes.
  const result = await ctx.db.execute(sql`
    select person.id as user_id, coalesce(person.preferred_name, person.name, person.email) as name, count(*) over ()::int as total
    from ${users} as person
    where person.id in ${followersOfTask(sql`${task.id}::uuid`)} and person.service_organization_id is null
      and ${mayReadNow({ user_id: sql`person.id`, organization_id: sql`${board.organization_id}::uuid`, board_id: sql`${board.id}::uuid` })}
    order by lower(coalesce(person.preferred_name, person.name, person.email)), person.id limit ${MAX_LISTED}`);
  const rows = rowsOf<TaskFollowers["followers"][number] & { total: number }>(result);
  return { total: rows[0]?.total ?? 0, followers: rows.map(({ user_id, name }) => ({ user_id, name })) };
}
