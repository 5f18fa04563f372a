import { sql } from "drizzle-orm";
import { bigint, customType, timestamp, uuid } from "drizzle-orm/pg-core";

/** An instant with millisecond precision, which is also what JSON shows: nothing is lost between the two. */
export const instant = () => timestamp({ withTimezone: true, precision: 3, mode: "date" });

export const id = { id: uuid().primaryKey().defaultRandom() };

export const created = { created_at: instant().notNull().defaultNow() };

/**
 * Both stamps come from the database's clock, so that a row never seems updated before it was created.
 * `updated_at` moves with every UPDATE; code that must leave it alone sets it to itself.
 */
export const timestamps = {
  ...created,
  updated_at: instant()
    .notNull()
    .defaultNow()
    .$onUpdate(() => sql`now()`),
};

export const bytes = customType<{ data: Uint8Array; driverData: Uint8Array }>({ dataType: () => "bytea" });

/**
 * Any JSON, a bare string too. Drivers hand it over parsed, and Drizzle's own jsonb parses strings once more: the text "5"
 * would come back as a number.
 */
export const json = customType<{ data: unknown; driverData: unknown }>({
  dataType: () => "jsonb",
  toDriver: (value) => JSON.stringify(value),
});

/** A transaction id that never wraps; drivers hand it over as text. */
export const transactionId = customType<{ data: string; driverData: string }>({ dataType: () => "xid8" });

/**
 * Where a row stands in commit order. A reader takes rows with (tx, seq) beyond its cursor and tx below the oldest
 * transaction still open: `created_at` and a sequence alone both lose rows that commit late.
 */
export const commitOrder = {
  tx: transactionId().notNull().default(sql`pg_current_xact_id()`),
  seq: bigint({ mode: "bigint" }).notNull().generatedAlwaysAsIdentity(),
};

/**
 * The same for rows that change in place: set again by every visible change, so that a stream sees the row once per change.
 */
export const changeOrder = {
  change_tx: transactionId().notNull().default(sql`pg_current_xact_id()`),
  change_seq: bigint({ mode: "bigint" }).notNull().default(sql`nextval('change_seq')`),
};

/** What an UPDATE sets to move a row to the end of the change order. */
export const changedNow = { change_tx: sql`pg_current_xact_id()`, change_seq: sql`nextval('change_seq')` };
