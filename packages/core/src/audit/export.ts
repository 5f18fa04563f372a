import * as z from "zod";
import type { Admin } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { toCsvLine } from "../values/csv.ts";
import { InstantInput, lazyObject } from "../values/wire.ts";
import { type AuditEvent, readAuditEvents } from "./audit.ts";
import { recordAudit } from "./record.ts";

export const AuditExportQuery = lazyObject(() => ({
  format: z.enum(["ndjson", "csv"]).default("ndjson").describe("A JSON object a line, or comma-separated values with a header."),
  since: InstantInput.optional().describe("Only entries from this time on."),
}));
export type AuditExportQuery = z.infer<typeof AuditExportQuery>;

const CSV_HEADER = [
  "seq",
  "at",
  "action",
  "actor_type",
  "actor_id",
  "actor_name",
  "target_type",
  "target_id",
  "target_name",
  "changes",
  "address",
  "user_agent",
  "trace_id",
  "id",
  "hash",
];

const toCsvRow = ({ actor, target, changes, ...event }: AuditEvent) =>
  toCsvLine([
    event.seq,
    event.at,
    event.action,
    actor.type,
    actor.id,
    actor.name,
    target.type,
    target.id,
    target.name,
    JSON.stringify(changes),
    event.address,
    event.user_agent,
    event.trace_id,
    event.id,
    event.hash,
  ]);

const toLine = (event: AuditEvent) => `${JSON.stringify(event)}\n`;

/** Streams the entries of the active organization, oldest first, and records that they were exported. */
export async function exportAuditEvents(ctx: Context<Admin>, { format, since }: AuditExportQuery): Promise<ReadableStream> {
  const { organization_id } = ctx.actor.active;
  const after = { format, since: since ?? null };
  await recordAudit(ctx, "audit.exported", { organization_id, target: { id: organization_id }, after });
  const toText = format === "csv" ? toCsvRow : toLine;
  const encoder = new TextEncoder();
  async function* lines() {
    if (format === "csv") yield encoder.encode(toCsvLine(CSV_HEADER));
    for await (const events of readAuditEvents(ctx, since ?? null)) yield encoder.encode(events.map(toText).join(""));
  }
  return ReadableStream.from(lines());
}
