import type { Context } from "@board/core/context/context";
import { organization_members, users } from "@board/core/schema/organization.sql";
import { addMs } from "@board/core/values/time";
import { and, eq, lt, type SQL, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { account, passkey, session, user } from "./tables.sql.ts";

/** A sign-up ends long before this time, so an account that is still unfinished then was cut off. */
const SIGN_UP_MS = 60_000;

const hasNone = (table: PgTable, user_id: PgColumn): SQL =>
  sql`not exists (select 1 from ${table} where ${user_id} = ${user.id})`;

/**
 * Removes the account of a sign-up that was cut off before its person had joined or could sign in. Otherwise nobody could ever
 * use the address again. Returns whether there was such an account.
 */
export async function removeUnfinishedAccount({ db, now }: Context, email: string): Promise<boolean> {
  const isNoMember = sql`not exists (
    select 1 from ${users} join ${organization_members} on ${organization_members.user_id} = ${users.id}
    where ${users.auth_issuer} = ${user.issuer} and ${users.auth_subject} = ${user.subject})`;
  const removed = await db
    .delete(user)
    .where(
      and(
        eq(user.email, email),
        eq(user.emailVerified, false),
        lt(user.createdAt, addMs(now(), -SIGN_UP_MS)),
        hasNone(account, account.userId),
        hasNone(passkey, passkey.userId),
        hasNone(session, session.userId),
        isNoMember,
      ),
    )
    .returning({ id: user.id });
  return removed.length > 0;
}
