import { and, countDistinct, eq, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { organization_members, users } from "../schema/organization.sql.ts";
import { LOCAL_IDENTITY } from "./identity.ts";

/** The issuer of a user. Early versions did not store the issuer of the local user. */
const issuerOf = sql<string>`case when ${users.auth_issuer} = '' and ${users.auth_subject} = ${LOCAL_IDENTITY.subject}
  then ${LOCAL_IDENTITY.issuer} else ${users.auth_issuer} end`;

/** Counts the people that each issuer identifies and that are members of an organization. Service users of keys do not count. */
export async function countPeopleByIssuer({ db }: Pick<Context, "db">): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .select({ issuer: issuerOf, people: countDistinct(users.id) })
    .from(users)
    .innerJoin(
      organization_members,
      and(eq(organization_members.user_id, users.id), sql`${users.service_organization_id} is null`),
    )
    .groupBy(sql`1`);
  return new Map(rows.map(({ issuer, people }) => [issuer, people]));
}
