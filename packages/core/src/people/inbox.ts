import { and, eq, inArray, isNull, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import { ALERT_TYPES } from "../context/alert.ts";
import type { User } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { type Filter, conditionOf, filterBy } from "../lists/filter.ts";
import { newestFirst } from "../lists/keyset.ts";
import { listOf } from "../lists/list.ts";
import { byCursor, toCursorPage } from "../lists/page.ts";
import { MAX_CURSOR } from "../lists/page-cursor.ts";
import { user_notifications } from "../schema/people.sql.ts";
import { Id, Instant, lazyObject, MAX_IDS, QueryBoolean, QueryInteger } from "../values/wire.ts";
import { notificationColumns } from "./notification-columns.ts";
import { mayBeShown } from "./notification-rights.ts";
import { type NotificationFacts, toText, toTitle } from "./notification-text.ts";

const MAX_LIMIT = 100;
/** Counting stops at this number, so that a long backlog does not take longer to read. */
const MAX_UNREAD = 100;

export const UserNotification = lazyObject(() => ({
  id: Id.describe("Id of the notification."),
  type: z.enum(ALERT_TYPES).describe("What happened."),
  title: z.string().describe("One line that says what happened."),
  text: z.string().nullable().describe("The words of others that belong to it, cut after 1,000 characters."),
  organization_id: Id.describe("Organization in which it happened."),
  board_id: Id.nullable().describe("Board on which it happened; null for what concerns the whole organization."),
  task_id: Id.nullable().describe("Task that it is about."),
  subject_id: Id.describe("The approval, run, budget, gateway, agent or subscription; the task, board or group of a mention."),
  status: z.string().nullable().describe("Of an approval or question: its decision by now."),
  actor: z
    .object({
      type: z.enum(["user", "agent", "system"]).describe("A person, an agent, or the service itself."),
      id: Id.nullable().describe("Id of the person or agent."),
      name: z.string().nullable().describe("Name of the person or agent."),
    })
    .describe("Who did it."),
  created_at: Instant.describe("When the person was notified."),
  read_at: Instant.nullable().describe("When the person read it."),
})).meta({ id: "UserNotification", description: "Something of which a person was notified." });
export type UserNotification = z.infer<typeof UserNotification>;

export const UserInbox = lazyObject(() => ({
  items: z.array(UserNotification).describe("The person's notifications, newest first."),
  next_cursor: z.string().nullable().describe("Pass it as `cursor` for the next page; null on the last page."),
  unread: z.int().describe(`How many are not read, at most ${MAX_UNREAD}.`),
})).meta({ id: "UserInbox", description: "The inbox of a person." });
export type UserInbox = z.infer<typeof UserInbox>;

export const UserInboxQuery = lazyObject(() => ({
  unread: QueryBoolean.optional().describe("`true` leaves out what was read."),
  cursor: z.string().max(MAX_CURSOR).optional().describe("The `next_cursor` of the page before; empty for the first page."),
  limit: QueryInteger(1, MAX_LIMIT).default(50).describe("Maximum number of items to return."),
}));
export type UserInboxQuery = z.infer<typeof UserInboxQuery>;

export const ReadInbox = lazyObject(() => ({
  ids: z.array(Id).max(MAX_IDS).nullable().default(null).describe("What was read; null for all."),
})).meta({ id: "UserInboxRead" });
export type ReadInbox = z.infer<typeof ReadInbox>;

export const UnreadCount = lazyObject(() => ({ unread: UserInbox.shape.unread })).meta({
  id: "UserInboxUnread",
  description: "How much of an inbox is not read.",
});
export type UnreadCount = z.infer<typeof UnreadCount>;

const inboxList = listOf({
  name: "user inbox",
  table: user_notifications,
  columns: notificationColumns,
  order: newestFirst(user_notifications),
});

/** Returns a filter that keeps a person's notifications about boards, groups and organizations that the person may still read. */
const visibleTo = (user_id: string): Filter => ({
  name: "of the person",
  values: { user_id },
  condition: (of) => and(eq(user_notifications.user_id, of("user_id") as string), mayBeShown)!,
});

const isUnread: SQL = isNull(user_notifications.read_at);

/** Returns the caller's notifications, newest first. */
export async function getUserInbox(ctx: Context<User>, query: UserInboxQuery): Promise<UserInbox> {
  const { user_id } = ctx.actor;
  const page = await inboxList.read(ctx, byCursor(query), {
    owner: user_id,
    filters: [visibleTo(user_id), ...(query.unread ? [filterBy("unread", true, () => isUnread)] : [])],
    toItem: toNotification,
  });
  const { items, next_cursor } = toCursorPage(page);
  return { items, next_cursor, ...(await countUnread(ctx)) };
}

/** Marks notifications of the caller as read. Ids of other people's notifications are ignored. */
export async function readUserInbox(ctx: Context<User>, { ids }: ReadInbox): Promise<UnreadCount> {
  await ctx.db
    .update(user_notifications)
    .set({ read_at: ctx.now() })
    .where(
      and(
        eq(user_notifications.user_id, ctx.actor.user_id),
        isUnread,
        ids === null ? undefined : inArray(user_notifications.id, ids),
      ),
    );
  return countUnread(ctx);
}

async function countUnread(ctx: Context<User>): Promise<UnreadCount> {
  const unread = ctx.db
    .select({ id: user_notifications.id })
    .from(user_notifications)
    .where(and(conditionOf(visibleTo(ctx.actor.user_id)), isUnread))
    .limit(MAX_UNREAD)
    .as("unread");
  const [row] = await ctx.db.select({ unread: sql<number>`count(*)::int` }).from(unread);
  return row!;
}

type Row = typeof user_notifications.$inferSelect & NotificationFacts;

function toNotification(row: Omit<Row, "type"> & { type: string }): UserNotification {
  const facts = row as Row;
  const { id, type, organization_id, board_id, task_id, subject_id, actor_type, actor_id, actor_name, approval } = facts;
  return {
    id,
    type,
    title: toTitle(facts),
    text: toText(facts),
    organization_id,
    board_id,
    task_id,
    subject_id,
    status: approval?.status ?? null,
    actor: { type: actor_type, id: actor_id, name: actor_name },
    created_at: row.created_at.toISOString(),
    read_at: row.read_at?.toISOString() ?? null,
  };
}
