import * as z from "zod";
import type { Admin } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { toCsvLine } from "../values/csv.ts";
import { InstantInput, lazyObject, QueryInteger } from "../values/wire.ts";
import { type AuditEvent, readAuditEvents } from "./audit.ts";
import { recordExport } from "./record.ts";

export const AuditExportQuery = lazyObject(() => ({
  format: z
    .enum(["ndjson", "csv"])
    .default("ndjson")
    .describe("One JSON object per line, or comma-separated values with a header."),
  since: InstantInput.optional().describe("Only entries from this time on."),
  after: QueryInteger(0, 999_999_999_999).default(0).describe("Only entries after the one with this `seq`."),
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

/** An export, and the position after which the next part begins; null if this is the last part. */
export interface AuditExport {
  body: ReadableStream | Uint8Array;
  next_after: number | null;
}

/**
 * Returns the entries of the active organization, oldest first, and records that they were exported. Where answers cannot be
 * streamed, a long log is exported in parts.
 */
export async function exportAuditEvents(ctx: Context<Admin>, query: AuditExportQuery): Promise<AuditExport> {
  const { format, after, since = null } = query;
  await recordExport(ctx, "audit.exported", { format, after, since });
  const toText = format === "csv" ? toCsvRow : toLine;
  const encoder = new TextEncoder();
  // Only the first part has the header, so that the parts can be joined to one file.
  const header = format === "csv" && after === 0 ? toCsvLine(CSV_HEADER) : "";
  async function* lines() {
    if (header) yield encoder.encode(header);
    for await (const events of readAuditEvents(ctx, { after, since })) yield encoder.encode(events.map(toText).join(""));
  }
  if (ctx.settings.streamed_answers) return { body: ReadableStream.from(lines()), next_after: null };
  const chunks = [encoder.encode(header)];
  let bytes = chunks[0]!.length;
  let last = after;
  for await (const events of readAuditEvents(ctx, { after, since }))
    for (const event of events) {
      const line = encoder.encode(toText(event));
      bytes += line.length;
      if (bytes > ctx.settings.budgets.answer_max_bytes && last > after) return { body: Buffer.concat(chunks), next_after: last };
      chunks.push(line);
      last = event.seq;
    }
  return { body: Buffer.concat(chunks), next_after: null };
}
