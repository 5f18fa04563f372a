import { type SQL, type SQLWrapper, sql } from "drizzle-orm";
import { bigint, customType, timestamp, uuid } from "drizzle-orm/pg-core";

/** Creates a column for a time with millisecond precision, as in JSON, so that a conversion loses no digits. */
export const instant = () => timestamp({ withTimezone: true, precision: 3, mode: "date" });

export const id = { id: uuid().primaryKey().defaultRandom() };

export const created = { created_at: instant().notNull().defaultNow() };

/**
 * Both times come from the clock of the database, so that a row is never updated before it was created. Every UPDATE sets
 * `updated_at`. Code that must keep the old value sets the column to itself.
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
 * Any JSON value that people write. Unlike jsonb, `json` keeps the order of keys. The type has no equality, so queries cannot
 * compare or group such values. Drivers return parsed values, and Drizzle's type would parse strings again: "5" would become a
 * number.
 */
export const json = customType<{ data: unknown; driverData: unknown }>({
  dataType: () => "json",
  toDriver: (value) => JSON.stringify(value),
});

/** The setting of a transaction that names the actor of its changes, such as `user:<id>`; see `actingActor`. */
export const ACTOR_SETTING = "changes.actor";

/** A 64-bit transaction id, which never wraps around. Drivers return it as text. */
export const transactionId = customType<{ data: string; driverData: string }>({ dataType: () => "xid8" });

/**
 * The position of a row in commit order. A reader selects rows whose (tx, seq) is after its cursor and whose tx is below the
 * oldest open transaction. Ordering by `created_at` or by a sequence alone would lose rows that commit late.
 */
export const commitOrder = {
  tx: transactionId().notNull().default(sql`pg_current_xact_id()`),
  seq: bigint({ mode: "bigint" }).notNull().generatedAlwaysAsIdentity(),
};

/**
 * The position of a row that is updated in place. Every visible change sets it again, so that a stream sends the row once for
 * each change.
 */
export const changeOrder = {
  change_tx: transactionId().notNull().default(sql`pg_current_xact_id()`),
  change_seq: bigint({ mode: "bigint" }).notNull().default(sql`nextval('change_seq')`),
};

/** The column values with which an UPDATE moves a row to the end of the change order. */
export const changedNow = { change_tx: sql`pg_current_xact_id()`, change_seq: sql`nextval('change_seq')` };

/**
 * Returns the condition of a check constraint: the column has one of these values. The values must be plain words, because they
 * become literals.
 */
export const isOneOf = (column: SQLWrapper, values: readonly string[]): SQL =>
  sql`${column} in (${sql.raw(values.map((value) => `'${value}'`).join(", "))})`;
