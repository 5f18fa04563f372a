import { and, asc, eq, gt, inArray, ne, or, type SQL, sql } from "drizzle-orm";
import { type Alert, DECIDER_GROUPS, type DeciderGroup } from "../context/alert.ts";
import type { Context } from "../context/context.ts";
import { followersOfBoard, followersOfTask, makerOfBoard, nonFollowersOfTask } from "../follow/follow.ts";
import { mayReadGroupNow } from "../organization/access.ts";
import { membersWith } from "../organization/board-rights.ts";
import { api_keys } from "../schema/key.sql.ts";
import { organization_members, users } from "../schema/organization.sql.ts";
import { user_notifications } from "../schema/people.sql.ts";

/** The maximum number of people per job. The next job continues, so that other work can run in between. */
export const PAGE = 500;

interface Audience {
  user_ids: string[];
  /** The group of people who are asked to decide; null for other alerts. */
  group: DeciderGroup | null;
}

export const isDecision = ({ type }: Pick<Alert, "type">): boolean => type === "approval.requested" || type === "question.asked";

/** Returns the next people after the id `after`, in the order of their ids, whom an alert concerns and who may know about it. */
export async function readAudience(ctx: Context, alert: Alert, after: string | null): Promise<Audience> {
  if (!isDecision(alert)) return { user_ids: await findMembers(ctx, alert, audienceOf(alert), after), group: null };
  const groups = alert.group ? [alert.group] : groupsAfter(alert.escalation?.after ?? null);
  for (const group of groups) {
    const user_ids = await findMembers(ctx, alert, decidersOf(alert, group), after);
    if (user_ids.length > 0) return { user_ids, group };
  }
  return { user_ids: [], group: null };
}

/** Returns the groups that may still be asked, in their order. */
const groupsAfter = (group: DeciderGroup | null): readonly DeciderGroup[] =>
  group === null ? DECIDER_GROUPS : DECIDER_GROUPS.slice(DECIDER_GROUPS.indexOf(group) + 1);

async function findMembers(ctx: Context, alert: Alert, audience: SQL | undefined, after: string | null): Promise<string[]> {
  const { organization_id, board_id: id, actor } = alert;
  const rows = await ctx.db
    .select({ user_id: organization_members.user_id })
    .from(organization_members)
    .where(
      and(
        eq(organization_members.organization_id, organization_id),
        id === null ? undefined : membersWith(isDecision(alert) ? "write" : "read", { id, organization_id }),
        id === null && alert.type === "mention" ? readersOfGroup(alert) : undefined,
        audience,
        isPerson,
        // People are not notified of what they did themselves.
        actor.type === "user" && actor.id !== null ? ne(organization_members.user_id, actor.id) : undefined,
        after === null ? undefined : gt(organization_members.user_id, after),
        alert.escalation ? wasNotAsked(alert) : undefined,
      ),
    )
    .orderBy(asc(organization_members.user_id))
    .limit(PAGE);
  return rows.map(({ user_id }) => user_id);
}

/** Excludes the service users of keys, because nobody reads their inboxes. */
const isPerson = sql`not exists (select from ${users} as service
  where service.id = ${organization_members.user_id} and service.service_organization_id is not null)`;
/**
 * Returns a condition that excludes people who were already asked, because groups overlap. If nobody is left, the next group is
 * asked.
 */
const wasNotAsked = ({ key }: Alert): SQL => sql`not exists (select from ${user_notifications} as earlier
  where earlier.user_id = ${organization_members.user_id} and earlier.key = ${key})`;

const isAdmin = inArray(organization_members.role, ["owner", "admin"]);

/** Returns a condition on `organization_members`: whether the member may read the group in whose chat people are mentioned. */
const readersOfGroup = ({ subject_id }: Alert): SQL =>
  mayReadGroupNow({
    user_id: organization_members.user_id,
    organization_id: organization_members.organization_id,
    group_id: sql`${subject_id}::uuid`,
  });

const isIn = (people: SQL): SQL => sql`${organization_members.user_id} in ${people}`;

function decidersOf({ board_id }: Alert, group: DeciderGroup): SQL {
  if (group === "admins" || board_id === null) return isAdmin;
  return isIn(group === "watchers" ? followersOfBoard(board_id) : makerOfBoard(board_id));
}

function audienceOf({ type, board_id, task_id, subject_id, names = [] }: Alert): SQL | undefined {
  if (type === "mention") return isIn(peopleNamed(names));
  if (type.startsWith("task.") || type === "run.failed")
    return and(
      or(isIn(followersOfBoard(board_id!)), task_id === null ? undefined : isIn(followersOfTask(sql`${task_id}::uuid`))),
      sql`${organization_members.user_id} not in ${nonFollowersOfTask(task_id)}`,
    );
  if (type === "key.expires_soon")
    return or(isAdmin, isIn(sql`(select created_by_user_id from ${api_keys} where id = ${subject_id})`));
  return board_id === null ? isAdmin : or(isAdmin, isIn(makerOfBoard(board_id)));
}

/**
 * Selects the people with one of these names. A person can be mentioned by name, by the first word of the name, or by the part of
 * the e-mail address before the @.
 */
const peopleNamed = (names: readonly string[]): SQL => sql`(
  select person.id from ${users} as person where array[lower(trim(person.preferred_name)), lower(trim(person.name)),
    lower(split_part(trim(person.preferred_name), ' ', 1)), lower(split_part(trim(person.name), ' ', 1)),
    lower(split_part(person.email, '@', 1))] && ${sql.param([...names])}::text[])`;
