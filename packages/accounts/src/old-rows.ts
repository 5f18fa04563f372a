import type { Context } from "@board/core/context/context";
import { rowsOf } from "@board/core/db/database";
import { type RemovedBatch, removeInBatches } from "@board/core/db/retention";
import { toTimestamp } from "@board/core/db/timestamp";
import { errorText } from "@board/core/values/log";
import { addMs, DAY_MS } from "@board/core/values/time";
import { type SQL, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { COMMAND_LINE_ID } from "./oauth.ts";
import * as oauth from "./oauth-tables.sql.ts";
import * as tables from "./tables.sql.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const INTERVAL_MS = 10 * MINUTE_MS;
const BATCH = 1_000;

interface OldRows {
  table: PgTable;
  since: PgColumn | SQL;
  kept_ms: number;
  where?: SQL;
}

const { clientId } = oauth.oauthClient;
const hasNone = (table: PgTable, client: PgColumn): SQL => sql`not exists (select 1 from ${table} where ${client} = ${clientId})`;

/**
 * Anybody may register a client or request a code, so unused clients and codes are soon removed. A removed client registers again.
 */
const OLD_ROWS: readonly OldRows[] = [
  { table: tables.verification, since: tables.verification.expiresAt, kept_ms: HOUR_MS },
  { table: tables.session, since: tables.session.expiresAt, kept_ms: DAY_MS },
  // The rate limit stores a row for each address and path, so guessing leaves many rows.
  { table: tables.rateLimit, since: sql`to_timestamp(${tables.rateLimit.lastRequest} / 1000.0)`, kept_ms: HOUR_MS },
  { table: oauth.deviceCode, since: oauth.deviceCode.expiresAt, kept_ms: HOUR_MS },
  { table: oauth.oauthClientAssertion, since: oauth.oauthClientAssertion.expiresAt, kept_ms: HOUR_MS },
  { table: oauth.oauthAccessToken, since: oauth.oauthAccessToken.expiresAt, kept_ms: DAY_MS },
  { table: oauth.oauthRefreshToken, since: oauth.oauthRefreshToken.expiresAt, kept_ms: DAY_MS },
  {
    table: oauth.oauthClient,
    since: oauth.oauthClient.createdAt,
    kept_ms: HOUR_MS,
    where: sql.join(
      [
        sql`${clientId} <> ${COMMAND_LINE_ID}`,
        hasNone(oauth.oauthConsent, oauth.oauthConsent.clientId),
        hasNone(oauth.oauthAccessToken, oauth.oauthAccessToken.clientId),
        hasNone(oauth.oauthRefreshToken, oauth.oauthRefreshToken.clientId),
        hasNone(oauth.deviceCode, oauth.deviceCode.clientId),
      ],
      sql` and `,
    ),
  },
];

/**
 * Returns a function that removes outdated rows of the tables for accounts, at most every ten minutes. The function never
 * rejects.
 */
export function createRowRemover(openContext: () => Context): () => Promise<void> {
  let next = 0;
  return async () => {
    const { db, log, now } = openContext();
    if (now().getTime() < next) return;
    next = addMs(now(), INTERVAL_MS).getTime();
    try {
      for (const rows of OLD_ROWS) await removeRows(db, rows, addMs(now(), -rows.kept_ms));
    } catch (error) {
      log.error("accounts.removal_failed", "Old rows of the accounts were not removed.", { error: errorText(error) });
    }
  };
}

const removeRows = (db: Context["db"], { table, since, where }: OldRows, before: Date): Promise<void> =>
  removeInBatches(BATCH, async (size, from) => {
    const result = await db.execute(sql`
      with removed as (
        delete from ${table} where ctid = any (array(
          select ctid from ${table} where ${since} >= ${from}::timestamptz and ${since} < ${toTimestamp(before)}
          ${where ? sql`and ${where}` : sql``} order by ${since} limit ${size} for update skip locked))
        returning ${since} as at)
      select count(*)::int as count, max(at)::text as last from removed`);
    return rowsOf<RemovedBatch>(result)[0]!;
  });
