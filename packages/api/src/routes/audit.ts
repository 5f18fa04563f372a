import { AuditEvent, AuditQuery, listAuditEvents } from "@board/core/audit/audit";
import { AuditExportQuery, exportAuditEvents } from "@board/core/audit/export";
import { admin } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import { pageOf } from "@board/core/lists/page";
import * as z from "zod";
import { endpoint } from "../endpoint.ts";

const paths = "/api/v1/audit";
const MEDIA_TYPES = { ndjson: "application/x-ndjson", csv: "text/csv; charset=utf-8" };

function nextPartLink({ settings }: Context, { format, since }: AuditExportQuery, after: number): string {
  const search = new URLSearchParams({ format, after: String(after), ...(since && { since: since.toISOString() }) });
  return `<${settings.base_url ?? ""}${paths}/export?${search.toString()}>; rel="next"`;
}

/** The audit log of the active organization. */
export const audit = [
  endpoint(
    "GET",
    paths,
    {
      as: admin,
      summary: "List the audit log",
      description: "Who changed members, rights, keys, secrets, settings and budgets, newest first.",
      query: AuditQuery,
      returns: pageOf(AuditEvent),
    },
    (ctx, { query }) => listAuditEvents(ctx, query),
  ),
  endpoint(
    "GET",
    `${paths}/export`,
    {
      as: admin,
      summary: "Export the audit log",
      description:
        "All entries, oldest first, with the hashes that prove that none was changed. The export is recorded itself. On Lambda, an " +
        "answer has at most `answer_max_bytes`; the header `Link` then names the next part.",
      query: AuditExportQuery,
      returns: z.string().meta({ id: "AuditExport", description: "The entries as lines." }),
      media_type: "application/x-ndjson",
      other_media_types: ["text/csv"],
    },
    async (ctx, { query }) => {
      const { body, next_after } = await exportAuditEvents(ctx, query);
      const headers = {
        "content-type": MEDIA_TYPES[query.format],
        "content-disposition": `attachment; filename="audit.${query.format}"`,
        ...(next_after !== null && { link: nextPartLink(ctx, query, next_after) }),
      };
      return new Response(body, { headers });
    },
  ),
];
