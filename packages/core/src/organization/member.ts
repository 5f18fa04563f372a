import { and, asc, eq, getTableColumns, inArray, isNull, lte, or, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import type { Member as MemberActor } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { DomainError, notFound } from "../values/errors.ts";
import { booleanKey, idKey, lowerCaseKey, type SortOrder, textKey } from "../lists/keyset.ts";
import { truncatable, withTruncatedFields } from "../lists/large-fields.ts";
import { arrayLimit, type Page, type PageQuery } from "../lists/page.ts";
import { Id, Instant, lazyObject } from "../values/wire.ts";
import { MemberRole } from "./organization.ts";
import { organization_members, users } from "../schema/organization.sql.ts";
import { organization_board_access } from "../schema/board-access.sql.ts";
import { listOf } from "../lists/list.ts";
import { filterBy, filterIf } from "../lists/filter.ts";

const BoardAccess = lazyObject(() => ({
  id: Id.describe("Id of the access row."),
  board_id: Id.describe("Board of the rights."),
  can_read: z.boolean().describe("The member may read the board."),
  can_write: z.boolean().describe("The member may write to the board."),
  created_at: Instant.describe("When the rights were given."),
  updated_at: Instant.describe("When the rights last changed."),
})).meta({ id: "BoardAccess", description: "Rights of a member on one board." });

export const Member = lazyObject(() => ({
  id: Id.describe("Id of the membership."),
  organization_id: Id.describe("Organization of the membership."),
  user_id: Id.describe("User of the membership."),
  role: MemberRole.describe("Role in the organization; it gives no board rights."),
  all_boards_read: z.boolean().describe("May read every board."),
  all_boards_write: z.boolean().describe("May write to every board."),
  created_at: Instant.describe("When the user joined."),
  updated_at: Instant.describe("When the membership last changed."),
  user: z
    .object({
      id: Id.describe("Id of the user."),
      email: z.string().nullable().describe("E-mail address."),
      name: z.string().nullable().describe("Full name."),
      preferred_name: z.string().nullable().describe("What the user wants to be called."),
    })
    .nullable()
    .describe("The user."),
  board_access: z.array(BoardAccess).describe("Rights on single boards, in addition to the two flags."),
  ...truncatable,
})).meta({ id: "Member", description: "A membership in an organization." });
export type Member = z.infer<typeof Member>;

/** A lower bound for the size of a `BoardAccess` as JSON, to estimate how many fit into an answer. */
const MIN_ACCESS_BYTES = 150;

const memberColumns = {
  member: organization_members,
  user: { id: users.id, email: users.email, name: users.name, preferred_name: users.preferred_name },
};
type Row = { member: typeof organization_members.$inferSelect; user: NonNullable<Member["user"]> };
type AccessRow = typeof organization_board_access.$inferSelect;

const oldestFirst = [asc(organization_board_access.created_at), asc(organization_board_access.id)];

/**
 * Before each nullable column there is a boolean key for whether the column is null, because a cursor needs a value for every key.
 */
const memberOrder: SortOrder<{ id: string; email: string | null; name: string | null }> = [
  booleanKey(sql`(${users.email} is null)`, ({ email }) => email === null),
  lowerCaseKey(sql`coalesce(${users.email}, '')`, ({ email }) => email ?? ""),
  booleanKey(sql`(${users.name} is null)`, ({ name }) => name === null),
  textKey(sql`coalesce(${users.name}, '')`, ({ name }) => name ?? ""),
  idKey(organization_members.id, ({ id }) => id),
];

const memberList = listOf({
  name: "members",
  table: organization_members,
  joins: [{ table: users, on: eq(users.id, organization_members.user_id) }],
  columns: {
    ...getTableColumns(organization_members),
    email: users.email,
    name: users.name,
    preferred_name: users.preferred_name,
  },
  order: memberOrder,
});

/** Lists the organization's members by e-mail address. Members without an address come last. */
export function listMembers(ctx: Context<MemberActor>, query: PageQuery): Promise<Page<Member>> {
  const { organization_id } = ctx.actor.active;
  return memberList.read(ctx, query, {
    owner: organization_id,
    filters: [
      filterBy("organization_id", organization_id, (id) => eq(organization_members.organization_id, id)),
      filterIf("people", true, () => isNull(users.service_organization_id)),
    ],
    toItems: (rows) =>
      readBoardAccess(
        ctx,
        rows.map(({ email, name, preferred_name, ...member }) => ({
          member,
          user: { id: member.user_id, email, name, preferred_name },
        })),
      ),
  });
}

/** Returns a member of the organization. Admins may read every member, other members only their own membership. */
export async function getMember(ctx: Context<MemberActor>, member_id: string): Promise<Member> {
  const { organization_id, member_id: own_id, role } = ctx.actor.active;
  const member = await readMember(ctx, organization_id, member_id);
  if (role === "member" && member_id !== own_id) throw new DomainError("forbidden", "Forbidden");
  return member;
}

export const getOwnMember = (ctx: Context<MemberActor>): Promise<Member> =>
  readMembership(ctx, ctx.actor.active.organization_id, ctx.actor.active.member_id);

/**
 * Reads a person who is a member of the organization, with the member's board rights, in one statement. Service users of keys are
 * not found.
 */
export const readMember = (ctx: Context, organization_id: string, member_id: string): Promise<Member> =>
  readMembership(ctx, organization_id, member_id, isNull(users.service_organization_id));

async function readMembership(ctx: Context, organization_id: string, member_id: string, condition?: SQL): Promise<Member> {
  const rows = await ctx.db
    .select({ ...memberColumns, access: organization_board_access })
    .from(organization_members)
    .innerJoin(users, eq(users.id, organization_members.user_id))
    .leftJoin(organization_board_access, eq(organization_board_access.organization_member_id, organization_members.id))
    .where(and(eq(organization_members.id, member_id), eq(organization_members.organization_id, organization_id), condition))
    .orderBy(...oldestFirst);
  const [first] = rows;
  if (!first) throw notFound();
  return toMember(
    first,
    rows.flatMap((row) => row.access ?? []),
  );
}

/** Gives a member the rights to read and to write one board. */
export async function grantBoardAccess(ctx: Context, organization_member_id: string, board_id: string): Promise<void> {
  await ctx.db.insert(organization_board_access).values({ organization_member_id, board_id, can_read: true, can_write: true });
}

/** Adds the board rights to each member. If an answer cannot hold all of them, the list of every member is shortened. */
async function readBoardAccess(ctx: Context, rows: Row[]): Promise<Member[]> {
  const ids = rows.map(({ member }) => member.id);
  const ofMember = sql`partition by ${organization_board_access.organization_member_id}`;
  const ranked = ctx.db
    .select({
      ...getTableColumns(organization_board_access),
      rank: sql<number>`row_number() over (${ofMember} order by ${sql.join(oldestFirst, sql`, `)})`.as("rank"),
      of_member: sql`count(*) over (${ofMember})`.mapWith(Number).as("of_member"),
      of_all: sql<number>`count(*) over ()`.as("of_all"),
    })
    .from(organization_board_access)
    .where(inArray(organization_board_access.organization_member_id, ids))
    .as("ranked");
  const max_rows = arrayLimit(ctx, MIN_ACCESS_BYTES);
  const access = await ctx.db
    .select()
    .from(ranked)
    .where(or(lte(ranked.of_all, max_rows), lte(ranked.rank, Math.floor(max_rows / Math.max(1, ids.length)))))
    .orderBy(asc(ranked.created_at), asc(ranked.id));
  const byMember = Map.groupBy(access, ({ organization_member_id }) => organization_member_id);
  return rows.map((row) => {
    const own = byMember.get(row.member.id) ?? [];
    const isWhole = own.length === (own[0]?.of_member ?? 0);
    const granted = own.map(({ rank: _rank, of_member: _of_member, of_all: _of_all, ...access }) => access);
    return withTruncatedFields(toMember(row, granted), isWhole ? null : ["board_access"]);
  });
}

function toMember({ member, user }: Row, access: AccessRow[]): Member {
  return {
    ...member,
    created_at: member.created_at.toISOString(),
    updated_at: member.updated_at.toISOString(),
    user,
    board_access: access.map(({ organization_member_id: _, ...row }) => ({
      ...row,
      created_at: row.created_at.toISOString(),
      updated_at: row.updated_at.toISOString(),
    })),
  };
}
