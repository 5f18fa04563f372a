import { createHash } from "node:crypto";
import type { audit_events } from "../schema/audit.sql.ts";

type Row = typeof audit_events.$inferSelect;

/** The hash before the first row of an organization. */
export const GENESIS: Uint8Array = new Uint8Array(32);

/**
 * Returns the hash of a row: SHA-256 over the hash of the previous row, followed by the fields of the row as a JSON array in this
 * order. Anybody can compute it from an export (docs/reference/audit.md#hash-chain).
 */
export function hashOf(previous: Uint8Array, row: Omit<Row, "hash">): Uint8Array {
  const values = [
    row.seq,
    row.id,
    row.organization_id,
    row.at.toISOString(),
    row.action,
    [row.actor_type, row.actor_id, row.actor_name],
    [row.target_type, row.target_id, row.target_name],
    row.changes,
    row.address,
    row.user_agent,
    row.trace_id,
  ];
  return createHash("sha256").update(previous).update(JSON.stringify(values)).digest();
}
