import { bigint, index, integer, pgTable, primaryKey, smallint, text, uuid } from "drizzle-orm/pg-core";
import { bytes, instant } from "./columns.ts";

/**
 * The answers to requests with an Idempotency-Key. A row without an answer belongs to a running request that calls another
 * server. There are no foreign keys in either direction, so that storing an answer locks no other row.
 */
export const idempotency_keys = pgTable(
  "idempotency_keys",
  {
    /** The user or agent that sent the request. */
    caller_id: uuid().notNull(),
    /** Method and path template of the operation, with the names of its parameters. */
    operation: text().notNull(),
    key: text().notNull(),
    /** The organization whose budget the answer counts toward; the user if there is no organization. */
    owner_id: uuid().notNull(),
    request_hash: bytes().notNull(),
    status: smallint(),
    /** Headers and body. They are encrypted, because an answer may contain a token. */
    answer_sealed: bytes(),
    shard: smallint().notNull(),
    size_bytes: integer().notNull(),
    created_at: instant().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.caller_id, t.operation, t.key] }),
    index("idempotency_keys_by_owner").on(t.owner_id),
    index("idempotency_keys_by_age").on(t.created_at),
  ],
);

/**
 * The bytes of an owner's answers. They are split into shards, so that concurrent requests for an owner rarely wait for each
 * other.
 */
export const idempotency_usage = pgTable(
  "idempotency_usage",
  { owner_id: uuid().notNull(), shard: smallint().notNull(), size_bytes: bigint({ mode: "number" }).notNull() },
  (t) => [primaryKey({ columns: [t.owner_id, t.shard] })],
);
